#include "fodp/gradients/linear.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/init.h>

#include "fodp/base/check.h"
#include "fodp/gradients/contraction.h"
#include "fodp/gradients/narrow_inputs.h"
#include "fodp/gradients/parameters.h"
#include "fodp/gradients/weight_and_bias.h"

namespace fodp {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The gradient of a row is the sum over its positions of b a^T for the weight and of b for the bias, with a the input and b the output
// gradient.
class LinearRecord : public WeightAndBiasRecord {
 public:
  LinearRecord(at::Tensor weight, at::Tensor bias, const at::Tensor& input, const at::Tensor& output_gradient)
      : WeightAndBiasRecord(std::move(weight), std::move(bias)) {
    const std::int64_t rows = input.size(0), in = weight_.size(1), out = weight_.size(0);
    const std::int64_t positions = rows * in == 0 ? 0 : input.numel() / (rows * in);
    input_ = input.reshape({rows, positions, in});
    output_gradient_ = output_gradient.reshape({rows, positions, out}).contiguous();
  }

  std::int64_t rows() const override { return input_.size(0); }
  std::int64_t elements() const override { return input_.numel() + output_gradient_.numel(); }

  void add_squared_norms(std::span<double> squared, std::span<double> reach) override {
    const std::int64_t positions = output_gradient_.size(1);
    if (trains_weight()) add_contracted_squared_norms(input_.transpose(1, 2), output_gradient_.transpose(1, 2), squared);
    if (trains_bias()) add_squared_norms_of_rows(positions == 1 ? output_gradient_ : output_gradient_.sum(1), squared);
    if (positions == 1) return;
    if (trains_weight()) add_reach(input_, output_gradient_, 1, reach);
    if (trains_bias()) add_squared_norms_of_rows(output_gradient_ * std::sqrt(static_cast<double>(positions)), reach);
  }

  void clear_rows(const at::Tensor& rows) override {
    input_ = input_.index_fill(0, rows, 0);
    output_gradient_ = output_gradient_.index_fill(0, rows, 0);
  }

  void write_weighted_sum(const at::Tensor& weights, const FlatParameters& flat, const at::Tensor& sum) const override {
    const at::Tensor scaled = (output_gradient_ * weights.view({-1, 1, 1})).view({-1, weight_.size(0)});
    if (trains_weight()) {
      at::Tensor place = flat.place_of(weight_, sum);
      const at::Tensor inputs = input_.reshape({-1, weight_.size(1)});
      if (is_narrow(inputs, weight_))
        write_narrow_sum(scaled, inputs, place);
      else
        at::mm_out(place, scaled.t(), inputs);
    }
    if (trains_bias()) {
      at::Tensor place = flat.place_of(bias_, sum);
      at::sum_out(place, scaled, {0});
    }
  }

 private:
  at::Tensor input_, output_gradient_;
};

at::Tensor product(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  if (!is_narrow(input, weight)) return at::linear(input, weight, bias);
  const at::Tensor products = narrow_products(input, weight);
  return bias.defined() ? products + bias : products;
}

// Weight and bias are inputs of the autograd function, so that backward reaches a first layer too, whose own input needs no gradient. They
// get no gradient themselves. A missing bias is an empty tensor, because LibTorch 1.13 takes no undefined tensor here.
struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, at::Tensor input, at::Tensor weight, at::Tensor bias) {
    context->saved_data["wants_input_gradient"] = input.requires_grad();
    context->save_for_backward({input, weight, bias});
    return product(input, weight, bias.numel() > 0 ? bias : at::Tensor());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    Tape::add_to_current(std::make_unique<LinearRecord>(saved[1], saved[2], saved[0], gradients[0]));
    at::Tensor input_gradient;
    if (context->saved_data["wants_input_gradient"].toBool()) input_gradient = at::matmul(gradients[0], saved[1]);
    return {input_gradient, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor recorded_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  if (input.scalar_type() == at::kBFloat16 && weight.scalar_type() == at::kFloat && !is_narrow(input, weight))
    return recorded_linear(input.to(at::kFloat), weight, bias);
  if (!Tape::records({weight, bias})) return product(input, weight, bias);
  check_input(input.dim() >= 2 && input.size(-1) == weight.size(1),
              "fodp::nn::Linear takes [rows, ..., {}] while it records, got [{}]: rows come first", weight.size(1),
              fmt::join(input.sizes(), ", "));
  check_input(!bias.defined() || bias.numel() == weight.size(0), "fodp::nn::Linear: a bias of {} numbers for {} outputs", bias.numel(),
              weight.size(0));
  return LinearFunction::apply(input, weight, bias.defined() ? bias : weight.new_empty({0}));
}

namespace nn {

LinearImpl::LinearImpl(const torch::nn::LinearOptions& options_) : options(options_) { reset(); }

void LinearImpl::reset() {
  weight = register_parameter("weight", torch::empty({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", options.bias() ? torch::empty(options.out_features()) : at::Tensor(), /*requires_grad=*/options.bias());
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  torch::nn::init::kaiming_uniform_(weight, std::sqrt(5));
  if (bias.defined()) {
    const double bound = 1 / std::sqrt(static_cast<double>(options.in_features()));
    torch::nn::init::uniform_(bias, -bound, bound);
  }
}

void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << "fodp::nn::Linear(in_features=" << options.in_features() << ", out_features=" << options.out_features()
         << ", bias=" << (options.bias() ? "true" : "false") << ")";
}

at::Tensor LinearImpl::forward(const at::Tensor& input) { return recorded_linear(input, weight, bias); }

}  // namespace nn
}  // namespace fodp
