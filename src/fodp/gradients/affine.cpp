#include "fodp/gradients/affine.h"

#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

#include "fodp/base/check.h"
#include "fodp/gradients/contraction.h"
#include "fodp/gradients/parameters.h"
#include "fodp/gradients/tape.h"
#include "fodp/gradients/weight_and_bias.h"

namespace fodp {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The parameter in a shape that broadcasts against a tensor of `dimensions` axes, with the parameter's own axes starting at `axis`.
at::Tensor spread(const at::Tensor& parameter, std::int64_t axis, std::int64_t dimensions) {
  std::vector<std::int64_t> shape = parameter.sizes().vec();
  shape.resize(static_cast<std::size_t>(dimensions - axis), 1);
  return parameter.view(shape);
}

// Each row's gradient of the parameter, [rows, parameter]: the sum over those axes of the row that the parameter does not have.
at::Tensor per_row(const at::Tensor& gradient, const at::Tensor& parameter, std::int64_t axis) {
  std::vector<std::int64_t> others;
  for (std::int64_t k = 1; k < gradient.dim(); ++k)
    if (k < axis || k >= axis + parameter.dim()) others.push_back(k);
  return (others.empty() ? gradient : gradient.sum(others)).reshape({gradient.size(0), parameter.numel()});
}

// The gradients of weight and bias for each row. They are no larger than the row itself, so the record forms them at once and keeps nothing
// else.
class AffineRecord : public WeightAndBiasRecord {
 public:
  AffineRecord(at::Tensor weight, at::Tensor bias, const at::Tensor& normalised, const at::Tensor& output_gradient, std::int64_t axis)
      : WeightAndBiasRecord(std::move(weight), std::move(bias)), rows_(normalised.size(0)) {
    if (trains_weight()) of_weight_ = per_row(output_gradient * normalised, weight_, axis);
    if (trains_bias()) of_bias_ = per_row(output_gradient, bias_, axis);
  }

  std::int64_t rows() const override { return rows_; }
  std::int64_t elements() const override {
    return (of_weight_.defined() ? of_weight_.numel() : 0) + (of_bias_.defined() ? of_bias_.numel() : 0);
  }

  void add_squared_norms(std::span<double> squared, std::span<double>) override {
    if (trains_weight()) add_squared_norms_of_rows(of_weight_, squared);
    if (trains_bias()) add_squared_norms_of_rows(of_bias_, squared);
  }

  void clear_rows(const at::Tensor& rows) override {
    if (trains_weight()) of_weight_ = of_weight_.index_fill(0, rows, 0);
    if (trains_bias()) of_bias_ = of_bias_.index_fill(0, rows, 0);
  }

  void write_weighted_sum(const at::Tensor& weights, const FlatParameters& flat, const at::Tensor& sum) const override {
    const auto write = [&](const at::Tensor& parameter, const at::Tensor& gradients) {
      flat.place_of(parameter, sum).copy_(weights.matmul(gradients).view(parameter.sizes()));
    };
    if (trains_weight()) write(weight_, of_weight_);
    if (trains_bias()) write(bias_, of_bias_);
  }

 private:
  at::Tensor of_weight_, of_bias_;
  std::int64_t rows_;
};

at::Tensor affine(const at::Tensor& normalised, const at::Tensor& weight, const at::Tensor& bias, std::int64_t axis) {
  at::Tensor out = normalised;
  if (weight.defined() && weight.numel() > 0) out = out * spread(weight, axis, out.dim());
  if (bias.defined() && bias.numel() > 0) out = out + spread(bias, axis, out.dim());
  return out;
}

struct AffineFunction : torch::autograd::Function<AffineFunction> {
  static at::Tensor forward(AutogradContext* context, at::Tensor normalised, at::Tensor weight, at::Tensor bias, std::int64_t axis) {
    context->saved_data["axis"] = axis;
    context->saved_data["wants_input_gradient"] = normalised.requires_grad();
    context->save_for_backward({normalised, weight, bias});
    return affine(normalised, weight, bias, axis);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::int64_t axis = context->saved_data["axis"].toInt();
    Tape::add_to_current(std::make_unique<AffineRecord>(saved[1], saved[2], saved[0], gradients[0], axis));
    at::Tensor input_gradient;
    if (context->saved_data["wants_input_gradient"].toBool()) input_gradient = affine(gradients[0], saved[1], {}, axis);
    return {input_gradient, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor recorded_affine(const at::Tensor& normalised, const at::Tensor& weight, const at::Tensor& bias, std::int64_t axis) {
  if (!Tape::records({weight, bias})) return affine(normalised, weight, bias, axis);
  check_privacy(axis >= 1, "a norm layer must leave the rows in the first dimension: it cannot normalise across them");
  const at::Tensor none = normalised.new_empty({0});
  return AffineFunction::apply(normalised, weight.defined() ? weight : none, bias.defined() ? bias : none, axis);
}

}  // namespace fodp
