// fodp::nn::LayerNorm: torch::nn::LayerNorm's options, names, state dict and values, with book-keeping for private training.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/options/normalization.h>
#include <torch/nn/pimpl.h>

#include "fodp/gradients/tape.h"

namespace fodp::nn {

class LayerNormImpl : public torch::nn::Cloneable<LayerNormImpl>, public PrivateLayer {
 public:
  explicit LayerNormImpl(std::vector<std::int64_t> normalized_shape) : LayerNormImpl(torch::nn::LayerNormOptions(normalized_shape)) {}
  explicit LayerNormImpl(const torch::nn::LayerNormOptions& options);

  void reset() override;
  void reset_parameters();  // weight 1, bias 0
  void pretty_print(std::ostream& stream) const override;

  // Takes [rows, ..., normalized_shape] and gives the same shape.
  at::Tensor forward(const at::Tensor& input);

  torch::nn::LayerNormOptions options;
  at::Tensor weight, bias;
};

TORCH_MODULE(LayerNorm);

}  // namespace fodp::nn
