#include "fodp/gradients/conv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/functional/padding.h>
#include <torch/nn/init.h>

#include "fodp/base/check.h"
#include "fodp/gradients/contraction.h"
#include "fodp/gradients/parameters.h"
#include "fodp/gradients/weight_and_bias.h"

namespace fodp {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// How a convolution over two spatial dimensions is laid out. A convolution over one dimension is treated as having a height of 1.
struct ConvShape {
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups;
};

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, const ConvShape& shape) {
  return at::convolution(input, weight, bias, shape.stride, shape.padding, shape.dilation, /*transposed=*/false, {0, 0}, shape.groups);
}

// The gradients of the input, of the weight and of the bias. Those that are not wanted are undefined.
std::tuple<at::Tensor, at::Tensor, at::Tensor> backward_of(const at::Tensor& output_gradient, const at::Tensor& input,
                                                           const at::Tensor& weight, const ConvShape& shape, std::array<bool, 3> wanted) {
  return at::convolution_backward(output_gradient, input, weight, at::OptionalIntArrayRef({weight.size(0)}), shape.stride, shape.padding,
                                  shape.dilation, /*transposed=*/false, {0, 0}, shape.groups, wanted);
}

// A row's weight gradient is formed by one convolution for a few rows at a time, in which each row is a group of channels of its own: that
// costs about as much as the gradient of the rows together, and nothing is unfolded. Where it is not much larger than what is kept anyway,
// it is kept and serves for both the norm and the sum.
//
// Where the kernel has many channels and few places, its norm is cheaper without the gradient: after unfolding, the weight meets a row once
// for each place of the output, so that its gradient is that of contraction.h. Unfolding multiplies the size of the input by the number of
// cells of the kernel, so a few rows are unfolded at a time.
class ConvRecord : public WeightAndBiasRecord {
 public:
  ConvRecord(at::Tensor weight, at::Tensor bias, at::Tensor input, const at::Tensor& output_gradient, ConvShape shape)
      : WeightAndBiasRecord(std::move(weight), std::move(bias)),
        input_(std::move(input)),
        output_gradient_(output_gradient.contiguous()),
        shape_(std::move(shape)) {}

  std::int64_t rows() const override { return input_.size(0); }
  std::int64_t elements() const override { return input_.numel() + output_gradient_.numel(); }

  void add_squared_norms(std::span<double> squared, std::span<double> reach) override {
    const std::int64_t places = output_gradient_.size(2) * output_gradient_.size(3);
    if (trains_bias()) {
      add_squared_norms_of_rows(output_gradient_.flatten(2).sum(2), squared);
      add_squared_norms_of_rows(output_gradient_ * std::sqrt(static_cast<double>(places)), reach);
    }
    if (!trains_weight()) return;
    if (ghost_is_cheaper(weight_[0].numel(), weight_.size(0) / shape_.groups, places))
      for_unfolded_rows([&](std::int64_t begin, std::int64_t count, const at::Tensor& inputs, const at::Tensor& gradients) {
        add_contracted_squared_norms(inputs, gradients, squared.subspan(begin, count));
      });
    else
      form_gradients(squared);
    if (!gradients_.defined()) add_reach(input_, output_gradient_, static_cast<double>(most_patches(0) * most_patches(1)), reach);
  }

  void clear_rows(const at::Tensor& rows) override {
    input_ = input_.index_fill(0, rows, 0);
    output_gradient_ = output_gradient_.index_fill(0, rows, 0);
    if (gradients_.defined()) gradients_.index_fill_(0, rows, 0);
  }

  void write_weighted_sum(const at::Tensor& weights, const FlatParameters& flat, const at::Tensor& sum) const override {
    const bool from_factors = trains_weight() && !gradients_.defined();
    const at::Tensor scaled = output_gradient_ * weights.view({-1, 1, 1, 1});
    if (from_factors) flat.place_of(weight_, sum).copy_(std::get<1>(backward_of(scaled, input_, weight_, shape_, {false, true, false})));
    if (gradients_.defined()) flat.place_of(weight_, sum).copy_(weights.matmul(gradients_).view(weight_.sizes()));
    if (trains_bias()) flat.place_of(bias_, sum).copy_(scaled.sum(at::IntArrayRef({0, 2, 3})));
  }

 private:
  static constexpr std::int64_t kMostTimesLarger = 3;
  static constexpr std::int64_t kRowsTogether = 8;

  // The squared norm of every row's weight gradient, from the gradient itself. It is kept if it is small enough, and then the sum is made
  // of it; else the sum multiplies inputs by output gradients again, and a row with huge inputs counts as not finite (contraction.h).
  void form_gradients(std::span<double> squared) {
    const std::int64_t each = weight_.numel();
    if (each * rows() <= kMostTimesLarger * (input_.numel() + output_gradient_.numel()))
      gradients_ = at::empty({rows(), each}, weight_.options());
    // As many at a time whatever the number of rows, so that a row's bits do not depend on the others.
    const std::int64_t together = std::clamp<std::int64_t>(kChunkElements / each, 1, kRowsTogether);
    for (std::int64_t begin = 0; begin < rows(); begin += together) {
      const std::int64_t count = std::min(together, rows() - begin);
      const at::Tensor formed = gradients_of(filled_up(input_, begin, together), filled_up(output_gradient_, begin, together));
      add_squared_norms_of_rows(formed.narrow(0, 0, count), squared.subspan(begin, count));
      if (gradients_.defined()) gradients_.narrow(0, begin, count).copy_(formed.narrow(0, 0, count));
    }
    if (gradients_.defined()) return;
    std::vector<double> of_inputs(squared.size(), 0.0);
    add_squared_norms_of_rows(input_, of_inputs);
    const auto patches = static_cast<double>(most_patches(0) * most_patches(1));
    for (std::size_t i = 0; i < squared.size(); ++i)
      if (patches * of_inputs[i] >= kHugeInputs) squared[i] = std::numeric_limits<double>::infinity();
  }

  // Rows [begin, begin + count), with rows of zeros behind the last.
  static at::Tensor filled_up(const at::Tensor& values, std::int64_t begin, std::int64_t count) {
    const std::int64_t there = std::min(count, values.size(0) - begin);
    const at::Tensor some = values.narrow(0, begin, there).contiguous();
    if (there == count) return some;
    std::vector<std::int64_t> shape = some.sizes().vec();
    shape[0] = count - there;
    return at::cat({some, at::zeros(shape, some.options())});
  }

  // The weight gradient of each of these rows, [rows, numbers of the weight].
  at::Tensor gradients_of(const at::Tensor& input, const at::Tensor& output_gradient) const {
    const std::int64_t count = input.size(0);
    const auto as_channels = [&](const at::Tensor& values) {
      return values.view({1, count * values.size(1), values.size(2), values.size(3)});
    };
    const at::Tensor shaped = at::empty({count * weight_.size(0), weight_.size(1), weight_.size(2), weight_.size(3)},
                                        weight_.options());  // only its shape counts
    ConvShape by_row = shape_;
    by_row.groups *= count;
    return std::get<1>(backward_of(as_channels(output_gradient), as_channels(input), shaped, by_row, {false, true, false}))
        .reshape({count, weight_.numel()});
  }

  // How many of the patches that the kernel is applied to a number of the input lies in at most, along one axis. Cell j of the kernel meets
  // it where j * dilation leaves one given remainder when divided by the stride. Such cells are stride / gcd(stride, dilation) apart.
  std::int64_t most_patches(std::size_t axis) const {
    const std::int64_t stride = shape_.stride[axis], apart = stride / std::gcd(stride, shape_.dilation[axis]);
    return (weight_.size(2 + static_cast<std::int64_t>(axis)) + apart - 1) / apart;
  }

  // Calls f(first row, rows, unfolded inputs [rows, in, places], output gradients [rows, out, places]) for all rows, a few at a time, and
  // for each group of channels.
  template <class F>
  void for_unfolded_rows(F&& f) const {
    const at::Tensor gradient = output_gradient_.flatten(2);
    const std::int64_t in = weight_[0].numel(), out = weight_.size(0) / shape_.groups;
    const std::int64_t each = std::max<std::int64_t>(1, in * shape_.groups * gradient.size(2));
    const std::int64_t chunk = std::max<std::int64_t>(1, kChunkElements / each);
    for (std::int64_t begin = 0; begin < rows(); begin += chunk) {
      const std::int64_t count = std::min(chunk, rows() - begin);
      const at::Tensor unfolded =
          at::im2col(input_.narrow(0, begin, count), weight_.sizes().slice(2), shape_.dilation, shape_.padding, shape_.stride);
      for (std::int64_t group = 0; group < shape_.groups; ++group)
        f(begin, count, unfolded.narrow(1, group * in, in), gradient.narrow(0, begin, count).narrow(1, group * out, out));
    }
  }

  at::Tensor input_, output_gradient_;
  at::Tensor gradients_;  // each row's weight gradient, [rows, numbers of the weight], where it is kept
  ConvShape shape_;
};

// Weight and bias are inputs of the autograd function but get no gradient; linear.cpp says why.
struct ConvFunction : torch::autograd::Function<ConvFunction> {
  static at::Tensor forward(AutogradContext* context, at::Tensor input, at::Tensor weight, at::Tensor bias, ConvShape shape) {
    context->saved_data["wants_input_gradient"] = input.requires_grad();
    context->saved_data["stride"] = shape.stride;
    context->saved_data["padding"] = shape.padding;
    context->saved_data["dilation"] = shape.dilation;
    context->saved_data["groups"] = shape.groups;
    context->save_for_backward({input, weight, bias});
    return convolve(input, weight, bias.numel() > 0 ? bias : at::Tensor(), shape);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto numbers = [&](const char* name) { return context->saved_data[name].toIntVector(); };
    const ConvShape shape{numbers("stride"), numbers("padding"), numbers("dilation"), context->saved_data["groups"].toInt()};
    at::Tensor input_gradient;
    if (context->saved_data["wants_input_gradient"].toBool())
      input_gradient = std::get<0>(backward_of(gradients[0], saved[0], saved[1], shape, {true, false, false}));
    Tape::add_to_current(std::make_unique<ConvRecord>(saved[1], saved[2], saved[0], gradients[0], shape));
    return {input_gradient, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

at::Tensor recorded_convolution(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, const ConvShape& shape) {
  if (!Tape::records({weight, bias})) return convolve(input, weight, bias, shape);
  return ConvFunction::apply(input, weight, bias.defined() ? bias : weight.new_empty({0}), shape);
}

}  // namespace

namespace nn {

template <std::size_t D, class Derived>
ConvImpl<D, Derived>::ConvImpl(const torch::nn::ConvOptions<D>& options_) : options(options_) {
  check_input(options.groups() >= 1 && options.in_channels() % options.groups() == 0 && options.out_channels() % options.groups() == 0,
              "fodp::nn::Conv{}d: {} groups: must divide {} input and {} output channels", D, options.groups(), options.in_channels(),
              options.out_channels());
  reset();
}

template <std::size_t D, class Derived>
void ConvImpl<D, Derived>::reset() {
  std::vector<std::int64_t> shape{options.out_channels(), options.in_channels() / options.groups()};
  shape.insert(shape.end(), options.kernel_size()->begin(), options.kernel_size()->end());
  weight = this->register_parameter("weight", torch::empty(shape));
  bias = this->register_parameter("bias", options.bias() ? torch::empty(options.out_channels()) : at::Tensor(), options.bias());
  reset_parameters();
}

template <std::size_t D, class Derived>
void ConvImpl<D, Derived>::reset_parameters() {
  torch::nn::init::kaiming_uniform_(weight, std::sqrt(5));
  if (bias.defined()) {
    const double bound = 1 / std::sqrt(static_cast<double>(weight[0].numel()));
    torch::nn::init::uniform_(bias, -bound, bound);
  }
}

template <std::size_t D, class Derived>
void ConvImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << fmt::format("fodp::nn::Conv{}d({}, {}, kernel_size=({}), stride=({}), groups={}, bias={})", D, options.in_channels(),
                        options.out_channels(), fmt::join(*options.kernel_size(), ", "), fmt::join(*options.stride(), ", "),
                        options.groups(), options.bias());
}

template <std::size_t D, class Derived>
at::Tensor ConvImpl<D, Derived>::forward(const at::Tensor& input) {
  check_input(input.dim() == D + 2 && input.size(1) == options.in_channels(),
              "fodp::nn::Conv{}d takes [rows, {}, {}], got [{}]: rows come first", D, options.in_channels(),
              D == 1 ? "length" : "height, width", fmt::join(input.sizes(), ", "));
  // The convolution itself pads with zeros, equally on both sides. Any other padding is applied to the input before.
  std::vector<std::int64_t> padding(D, 0), before;
  if (const auto* numbers = get_if<torch::ExpandingArray<D>>(&options.padding())) {
    padding.assign((*numbers)->begin(), (*numbers)->end());
  } else if (holds_alternative<torch::enumtype::kSame>(options.padding())) {
    for (std::size_t axis = D; axis-- > 0;) {
      const std::int64_t all = options.dilation()->at(axis) * (options.kernel_size()->at(axis) - 1);
      before.insert(before.end(), {all / 2, all - all / 2});
    }
    check_input(std::ranges::all_of(*options.stride(), [](std::int64_t stride) { return stride == 1; }),
                "fodp::nn::Conv{}d: padding 'same' needs a stride of 1", D);
  }
  namespace F = torch::nn::functional;
  F::PadFuncOptions::mode_t mode = torch::kConstant;
  if (holds_alternative<torch::enumtype::kReflect>(options.padding_mode())) mode = torch::kReflect;
  if (holds_alternative<torch::enumtype::kReplicate>(options.padding_mode())) mode = torch::kReplicate;
  if (holds_alternative<torch::enumtype::kCircular>(options.padding_mode())) mode = torch::kCircular;
  if (before.empty() && !holds_alternative<torch::enumtype::kConstant>(mode)) {
    for (std::size_t axis = D; axis-- > 0;) before.insert(before.end(), 2, padding[axis]);
    padding.assign(D, 0);
  }
  const at::Tensor padded = before.empty() ? input : F::pad(input, F::PadFuncOptions(before).mode(mode));

  const auto two = [](const torch::ExpandingArray<D>& numbers) { return std::vector<std::int64_t>(numbers->begin(), numbers->end()); };
  ConvShape shape{two(options.stride()), padding, two(options.dilation()), options.groups()};
  if constexpr (D == 2) return recorded_convolution(padded, weight, bias, shape);
  shape.stride.insert(shape.stride.begin(), 1);
  shape.padding.insert(shape.padding.begin(), 0);
  shape.dilation.insert(shape.dilation.begin(), 1);
  return recorded_convolution(padded.unsqueeze(2), weight.unsqueeze(2), bias, shape).squeeze(2);
}

template class ConvImpl<1, Conv1dImpl>;
template class ConvImpl<2, Conv2dImpl>;

}  // namespace nn
}  // namespace fodp
