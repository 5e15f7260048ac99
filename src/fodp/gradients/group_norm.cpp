#include "fodp/gradients/group_norm.h"

#include <ATen/ops/group_norm.h>
#include <fmt/ranges.h>
#include <torch/nn/init.h>

#include "fodp/base/check.h"
#include "fodp/gradients/affine.h"

namespace fodp::nn {

GroupNormImpl::GroupNormImpl(const torch::nn::GroupNormOptions& options_) : options(options_) {
  check_input(options.num_groups() >= 1 && options.num_channels() % options.num_groups() == 0,
              "fodp::nn::GroupNorm: {} groups: must divide {} channels", options.num_groups(), options.num_channels());
  reset();
}

void GroupNormImpl::reset() {
  weight = register_parameter("weight", options.affine() ? torch::empty(options.num_channels()) : at::Tensor(), options.affine());
  bias = register_parameter("bias", options.affine() ? torch::empty(options.num_channels()) : at::Tensor(), options.affine());
  reset_parameters();
}

void GroupNormImpl::reset_parameters() {
  if (!weight.defined()) return;
  torch::nn::init::ones_(weight);
  torch::nn::init::zeros_(bias);
}

void GroupNormImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("fodp::nn::GroupNorm({}, {}, eps={}, affine={})", options.num_groups(), options.num_channels(), options.eps(),
                        options.affine());
}

at::Tensor GroupNormImpl::forward(const at::Tensor& input) {
  check_input(input.dim() >= 2 && input.size(1) == options.num_channels(), "fodp::nn::GroupNorm takes [rows, {}, ...], got [{}]",
              options.num_channels(), fmt::join(input.sizes(), ", "));
  if (!Tape::records({weight, bias})) return at::group_norm(input, options.num_groups(), weight, bias, options.eps());
  return recorded_affine(at::group_norm(input, options.num_groups(), {}, {}, options.eps()), weight, bias, 1);
}

}  // namespace fodp::nn
