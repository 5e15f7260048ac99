// fodp::nn::GroupNorm: torch::nn::GroupNorm's options, names, state dict and values, with book-keeping for private training.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/options/normalization.h>
#include <torch/nn/pimpl.h>

#include "fodp/gradients/tape.h"

namespace fodp::nn {

class GroupNormImpl : public torch::nn::Cloneable<GroupNormImpl>, public PrivateLayer {
 public:
  GroupNormImpl(std::int64_t num_groups, std::int64_t num_channels)
      : GroupNormImpl(torch::nn::GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const torch::nn::GroupNormOptions& options);

  void reset() override;
  void reset_parameters();  // weight 1, bias 0
  void pretty_print(std::ostream& stream) const override;

  // Takes [rows, num_channels, ...] and gives the same shape.
  at::Tensor forward(const at::Tensor& input);

  torch::nn::GroupNormOptions options;
  at::Tensor weight, bias;
};

TORCH_MODULE(GroupNorm);

}  // namespace fodp::nn
