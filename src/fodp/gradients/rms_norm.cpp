#include "fodp/gradients/rms_norm.h"

#include <fmt/ranges.h>
#include <torch/nn/init.h>

#include "fodp/base/check.h"
#include "fodp/gradients/affine.h"

namespace fodp::nn {

RMSNormImpl::RMSNormImpl(const RMSNormOptions& options_) : options(options_) { reset(); }

void RMSNormImpl::reset() {
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight", affine ? torch::empty(options.normalized_shape()) : at::Tensor(), affine);
  reset_parameters();
}

void RMSNormImpl::reset_parameters() {
  if (weight.defined()) torch::nn::init::ones_(weight);
}

void RMSNormImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("fodp::nn::RMSNorm([{}], eps={}, elementwise_affine={})", fmt::join(options.normalized_shape(), ", "),
                        options.eps(), options.elementwise_affine());
}

at::Tensor RMSNormImpl::forward(const at::Tensor& input) {
  const std::int64_t axis = input.dim() - static_cast<std::int64_t>(options.normalized_shape().size());
  check_input(axis >= 1 && input.sizes().slice(axis) == at::IntArrayRef(options.normalized_shape()),
              "fodp::nn::RMSNorm takes [rows, ..., {}], got [{}]: rows come first", fmt::join(options.normalized_shape(), ", "),
              fmt::join(input.sizes(), ", "));
  std::vector<std::int64_t> axes;
  for (std::int64_t k = axis; k < input.dim(); ++k) axes.push_back(k);
  const at::Tensor scale = (input.square().mean(axes, /*keepdim=*/true) + options.eps()).rsqrt();
  return recorded_affine(input * scale, weight, {}, axis);
}

}  // namespace fodp::nn
