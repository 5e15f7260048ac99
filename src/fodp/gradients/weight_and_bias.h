// The record of a layer that has a weight and a bias. Either may be frozen or absent; an absent one is an empty tensor.
#pragma once

#include <utility>
#include <vector>

#include "fodp/gradients/tape.h"

namespace fodp {

class WeightAndBiasRecord : public Record {
 public:
  std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> covered;
    if (trains_weight()) covered.push_back(weight_);
    if (trains_bias()) covered.push_back(bias_);
    return covered;
  }

 protected:
  WeightAndBiasRecord(at::Tensor weight, at::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}

  bool trains_weight() const { return weight_.numel() > 0 && weight_.requires_grad(); }
  bool trains_bias() const { return bias_.numel() > 0 && bias_.requires_grad(); }

  at::Tensor weight_, bias_;
};

}  // namespace fodp
