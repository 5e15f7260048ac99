// fodp::nn::RMSNorm: x / sqrt(mean(x^2) + eps) * weight over the last dimensions, with the names and state dict of Python's
// torch.nn.RMSNorm (C++ has none), and book-keeping for private training. Zhang and Sennrich 2019.
#pragma once

#include <optional>

#include <torch/arg.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include "fodp/gradients/tape.h"

namespace fodp::nn {

struct RMSNormOptions {
  RMSNormOptions(std::vector<std::int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TORCH_ARG(std::vector<std::int64_t>, normalized_shape);
  TORCH_ARG(double, eps) = 1.1920928955078125e-07;  // the machine epsilon of float32, as in torch
  TORCH_ARG(bool, elementwise_affine) = true;
};

class RMSNormImpl : public torch::nn::Cloneable<RMSNormImpl>, public PrivateLayer {
 public:
  explicit RMSNormImpl(std::vector<std::int64_t> normalized_shape) : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
  explicit RMSNormImpl(const RMSNormOptions& options);

  void reset() override;
  void reset_parameters();  // weight 1
  void pretty_print(std::ostream& stream) const override;

  // Takes [rows, ..., normalized_shape] and gives the same shape.
  at::Tensor forward(const at::Tensor& input);

  RMSNormOptions options;
  at::Tensor weight;
};

TORCH_MODULE(RMSNorm);

}  // namespace fodp::nn
