#include "fodp/gradients/embedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/init.h>

#include "fodp/base/check.h"
#include "fodp/gradients/contraction.h"
#include "fodp/gradients/parameters.h"

namespace fodp {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kNoPadding = -1;

// The gradient of a row has one line for each distinct token of the row: the sum of the output gradients at the positions of that token.
class EmbeddingRecord : public Record {
 public:
  EmbeddingRecord(at::Tensor weight, const at::Tensor& indices, const at::Tensor& output_gradient, std::int64_t padding)
      : weight_(std::move(weight)), padding_(padding) {
    const std::int64_t rows = indices.size(0), positions = rows == 0 ? 0 : indices.numel() / rows;
    indices_ = indices.reshape({rows, positions}).contiguous();
    output_gradient_ = output_gradient.reshape({rows, positions, weight_.size(1)}).contiguous();
    // The padding token trains nothing, so the gradient at its positions is set to zero.
    if (padding_ != kNoPadding) output_gradient_ = output_gradient_.masked_fill(indices_.eq(padding_).unsqueeze(2), 0);
  }

  std::int64_t rows() const override { return indices_.size(0); }
  std::int64_t elements() const override { return indices_.numel() + output_gradient_.numel(); }
  std::vector<at::Tensor> parameters() const override { return {weight_}; }

  void add_squared_norms(std::span<double> squared, std::span<double> reach) override {
    const std::int64_t positions = indices_.size(1), width = weight_.size(1);
    std::vector<std::int64_t> order(positions);
    std::vector<double> line(width);
    for (std::size_t i = 0; i < squared.size(); ++i) {
      const std::int64_t* tokens = indices_.data_ptr<std::int64_t>() + i * positions;
      const float* gradients = output_gradient_.data_ptr<float>() + i * positions * width;
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, {}, [&](std::int64_t t) { return tokens[t]; });
      for (auto first = order.begin(); first != order.end();) {
        const auto last = std::find_if(first, order.end(), [&](std::int64_t t) { return tokens[t] != tokens[*first]; });
        std::ranges::fill(line, 0.0);
        for (; first != last; ++first)
          for (std::int64_t k = 0; k < width; ++k) line[k] += gradients[*first * width + k];
        for (const double value : line) squared[i] += value * value;
      }
    }
    if (positions > 1) add_squared_norms_of_rows(output_gradient_ * std::sqrt(static_cast<double>(positions)), reach);
  }

  void clear_rows(const at::Tensor& rows) override { output_gradient_ = output_gradient_.index_fill(0, rows, 0); }

  void write_weighted_sum(const at::Tensor& weights, const FlatParameters& flat, const at::Tensor& sum) const override {
    const at::Tensor scaled = output_gradient_ * weights.view({-1, 1, 1});
    flat.place_of(weight_, sum).zero_().index_add_(0, indices_.flatten(), scaled.view({-1, weight_.size(1)}));
  }

 private:
  at::Tensor weight_, indices_, output_gradient_;
  std::int64_t padding_;
};

struct EmbeddingFunction : torch::autograd::Function<EmbeddingFunction> {
  static at::Tensor forward(AutogradContext* context, at::Tensor weight, at::Tensor indices, std::int64_t padding) {
    context->saved_data["padding"] = padding;
    context->save_for_backward({weight, indices});
    return at::embedding(weight, indices, padding);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    Tape::add_to_current(std::make_unique<EmbeddingRecord>(saved[0], saved[1], gradients[0], context->saved_data["padding"].toInt()));
    return {at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

namespace nn {

EmbeddingImpl::EmbeddingImpl(const torch::nn::EmbeddingOptions& options_) : options(options_) {
  check_privacy(!options.max_norm().has_value(),
                "fodp::nn::Embedding: max_norm rescales the weights by which tokens a batch has: leave it out");
  check_privacy(!options.scale_grad_by_freq(),
                "fodp::nn::Embedding: scale_grad_by_freq scales one example's gradient by what the others hold: leave it out");
  auto& padding = options.padding_idx();
  if (padding && *padding < 0) padding = *padding + options.num_embeddings();
  check_input(!padding || (*padding >= 0 && *padding < options.num_embeddings()),
              "fodp::nn::Embedding: padding_idx is outside of {} embeddings", options.num_embeddings());
  reset();
}

void EmbeddingImpl::reset() {
  weight = register_parameter("weight", torch::empty({options.num_embeddings(), options.embedding_dim()}));
  reset_parameters();
}

void EmbeddingImpl::reset_parameters() {
  torch::nn::init::normal_(weight);
  const at::NoGradGuard no_gradients;
  if (options._weight().defined())
    weight.copy_(options._weight());
  else if (options.padding_idx())
    weight[*options.padding_idx()].fill_(0);
}

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  stream << "fodp::nn::Embedding(" << options.num_embeddings() << ", " << options.embedding_dim() << ")";
}

at::Tensor EmbeddingImpl::forward(const at::Tensor& indices) {
  const std::int64_t padding = options.padding_idx().value_or(kNoPadding);
  if (!Tape::records({weight})) return at::embedding(weight, indices, padding);
  check_input(indices.dim() >= 1 && !indices.is_floating_point(), "fodp::nn::Embedding takes whole numbers [rows, ...]: rows come first");
  return EmbeddingFunction::apply(weight, indices.to(at::kLong), padding);
}

}  // namespace nn
}  // namespace fodp
