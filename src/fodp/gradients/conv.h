// fodp::nn::Conv1d and Conv2d: torch's options, names, state dict and values, with book-keeping for private training. Rows come first:
// [rows, channels, length] and [rows, channels, height, width].
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/options/conv.h>
#include <torch/nn/pimpl.h>

#include "fodp/gradients/tape.h"

namespace fodp::nn {

// What Conv1d and Conv2d have in common. D is the number of spatial dimensions.
template <std::size_t D, class Derived>
class ConvImpl : public torch::nn::Cloneable<Derived>, public PrivateLayer {
 public:
  ConvImpl(std::int64_t in_channels, std::int64_t out_channels, torch::ExpandingArray<D> kernel_size)
      : ConvImpl(torch::nn::ConvOptions<D>(in_channels, out_channels, kernel_size)) {}
  explicit ConvImpl(const torch::nn::ConvOptions<D>& options);

  void reset() override;
  void reset_parameters();  // initial values as in PyTorch: uniform in +-1/sqrt(inputs of one output)
  void pretty_print(std::ostream& stream) const override;

  at::Tensor forward(const at::Tensor& input);

  torch::nn::ConvOptions<D> options;
  at::Tensor weight, bias;
};

class Conv1dImpl : public ConvImpl<1, Conv1dImpl> {
 public:
  using ConvImpl<1, Conv1dImpl>::ConvImpl;
};

class Conv2dImpl : public ConvImpl<2, Conv2dImpl> {
 public:
  using ConvImpl<2, Conv2dImpl>::ConvImpl;
};

TORCH_MODULE(Conv1d);
TORCH_MODULE(Conv2d);

}  // namespace fodp::nn
