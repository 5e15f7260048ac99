#include "fodp/gradients/linear.h"

#include <cmath>

#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/init.h>

#include "fodp/base/check.h"
#include "fodp/gradients/parameters.h"

namespace fodp::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

double squared_norm(const float* values, std::int64_t count) {
  double sums[4] = {};  // independent chains: the compiler may not reorder one
  std::int64_t k = 0;
  for (; k + 4 <= count; k += 4)
    for (int lane = 0; lane < 4; ++lane) sums[lane] += static_cast<double>(values[k + lane]) * values[k + lane];
  for (; k < count; ++k) sums[0] += static_cast<double>(values[k]) * values[k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The gradient of row i is d_i a_i^T for the weight and d_i for the bias: rank one, so its norm is exact without forming it.
class LinearRecord : public Record {
 public:
  LinearRecord(at::Tensor weight, at::Tensor bias, at::Tensor activation, at::Tensor output_gradient)
      : weight_(std::move(weight)),
        bias_(std::move(bias)),
        activation_(activation.contiguous()),
        output_gradient_(output_gradient.contiguous()) {}

  std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> covered;
    if (weight_.requires_grad()) covered.push_back(weight_);
    if (has_bias()) covered.push_back(bias_);
    return covered;
  }

  void add_squared_norms(std::span<double> squared) const override {
    const std::int64_t inputs = activation_.size(1), outputs = output_gradient_.size(1);
    const float* a = activation_.data_ptr<float>();
    const float* d = output_gradient_.data_ptr<float>();
    for (std::size_t i = 0; i < squared.size(); ++i) {
      const double from_weight = weight_.requires_grad() ? squared_norm(a + i * inputs, inputs) : 0;
      squared[i] += squared_norm(d + i * outputs, outputs) * (from_weight + (has_bias() ? 1 : 0));
    }
  }

  void clear_rows(const at::Tensor& rows) override {
    activation_ = activation_.index_fill(0, rows, 0);
    output_gradient_ = output_gradient_.index_fill(0, rows, 0);
  }

  void write_weighted_sum(const at::Tensor& weights, const FlatParameters& flat, const at::Tensor& sum) const override {
    const at::Tensor scaled = output_gradient_ * weights.unsqueeze(1);
    if (weight_.requires_grad()) {
      at::Tensor place = sum.narrow(0, flat.offset_of(weight_), weight_.numel()).view(weight_.sizes());
      at::mm_out(place, scaled.t(), activation_);
    }
    if (has_bias()) {
      at::Tensor place = sum.narrow(0, flat.offset_of(bias_), bias_.numel());
      at::sum_out(place, scaled, {0});
    }
  }

 private:
  bool has_bias() const { return bias_.numel() > 0 && bias_.requires_grad(); }

  at::Tensor weight_, bias_, activation_, output_gradient_;
};

// Weight and bias are autograd inputs so that a first layer has a backward too; they get no gradient. An absent bias is empty:
// LibTorch 1.13 takes no undefined tensor here.
struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, at::Tensor input, at::Tensor weight, at::Tensor bias) {
    context->saved_data["wants_input_gradient"] = input.requires_grad();
    context->save_for_backward({input, weight, bias});
    return at::linear(input, weight, bias.numel() > 0 ? bias : at::Tensor());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& output_gradient = gradients[0];
    Tape* tape = Tape::current();
    check_privacy(tape != nullptr, "backward() through a recorded fodp::nn::Linear outside its recording");
    tape->add(std::make_unique<LinearRecord>(saved[1], saved[2], saved[0], output_gradient));
    at::Tensor input_gradient;
    if (context->saved_data["wants_input_gradient"].toBool()) input_gradient = output_gradient.mm(saved[1]);
    return {input_gradient, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

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

at::Tensor LinearImpl::forward(const at::Tensor& input) {
  const bool trainable = weight.requires_grad() || (bias.defined() && bias.requires_grad());
  if (Tape::current() == nullptr || !trainable || !at::GradMode::is_enabled()) return at::linear(input, weight, bias);
  check_input(input.dim() == 2, "fodp::nn::Linear takes [rows, {}], got {} dimensions", options.in_features(), input.dim());
  return LinearFunction::apply(input, weight, bias.defined() ? bias : weight.new_empty({0}));
}

}  // namespace fodp::nn
