#include "fodp/gradients/layer_norm.h"

#include <ATen/ops/layer_norm.h>
#include <fmt/ranges.h>
#include <torch/nn/init.h>

#include "fodp/base/check.h"
#include "fodp/gradients/affine.h"

namespace fodp::nn {

LayerNormImpl::LayerNormImpl(const torch::nn::LayerNormOptions& options_) : options(options_) { reset(); }

void LayerNormImpl::reset() {
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight", affine ? torch::empty(options.normalized_shape()) : at::Tensor(), affine);
  bias = register_parameter("bias", affine ? torch::empty(options.normalized_shape()) : at::Tensor(), affine);
  reset_parameters();
}

void LayerNormImpl::reset_parameters() {
  if (!weight.defined()) return;
  torch::nn::init::ones_(weight);
  torch::nn::init::zeros_(bias);
}

void LayerNormImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("fodp::nn::LayerNorm([{}], eps={}, elementwise_affine={})", fmt::join(options.normalized_shape(), ", "),
                        options.eps(), options.elementwise_affine());
}

at::Tensor LayerNormImpl::forward(const at::Tensor& input) {
  const std::int64_t axis = input.dim() - static_cast<std::int64_t>(options.normalized_shape().size());
  check_input(axis >= 1, "fodp::nn::LayerNorm takes [rows, ..., {}], got [{}]: rows come first",
              fmt::join(options.normalized_shape(), ", "), fmt::join(input.sizes(), ", "));
  if (!Tape::records({weight, bias})) return at::layer_norm(input, options.normalized_shape(), weight, bias, options.eps());
  return recorded_affine(at::layer_norm(input, options.normalized_shape(), {}, {}, options.eps()), weight, bias, axis);
}

}  // namespace fodp::nn
