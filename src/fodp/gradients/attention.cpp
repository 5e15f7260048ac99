#include "fodp/gradients/attention.h"

#include <cmath>
#include <limits>

#include <ATen/ops/dropout.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <fmt/ranges.h>
#include <torch/nn/init.h>

#include "fodp/base/check.h"

namespace fodp::nn {

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options_) : options(options_) {
  check_input(options.num_heads() >= 1 && options.embed_dim() % options.num_heads() == 0,
              "fodp::nn::MultiheadAttention: {} heads: must divide embed_dim {}", options.num_heads(), options.embed_dim());
  check_input(options.dropout() >= 0 && options.dropout() < 1, "fodp::nn::MultiheadAttention: dropout {}: must be in [0, 1)",
              options.dropout());
  reset();
}

void MultiheadAttentionImpl::reset() {
  const std::int64_t width = options.embed_dim();
  in_proj_weight = register_parameter("in_proj_weight", torch::empty({3 * width, width}));
  in_proj_bias = register_parameter("in_proj_bias", options.bias() ? torch::empty({3 * width}) : at::Tensor(), options.bias());
  out_proj = register_module("out_proj", Linear(torch::nn::LinearOptions(width, width).bias(options.bias())));
  reset_parameters();
}

void MultiheadAttentionImpl::reset_parameters() {
  torch::nn::init::xavier_uniform_(in_proj_weight);
  if (!options.bias()) return;
  torch::nn::init::zeros_(in_proj_bias);
  torch::nn::init::zeros_(out_proj->bias);
}

void MultiheadAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("fodp::nn::MultiheadAttention(embed_dim={}, num_heads={}, dropout={}, bias={})", options.embed_dim(),
                        options.num_heads(), options.dropout(), options.bias());
}

at::Tensor MultiheadAttentionImpl::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                           const at::Tensor& mask) {
  const std::int64_t width = options.embed_dim(), heads = options.num_heads();
  for (const at::Tensor& input : {query, key, value})
    check_input(input.dim() == 3 && input.size(2) == width && input.size(0) == query.size(0),
                "fodp::nn::MultiheadAttention takes [rows, positions, {}] with equal rows, got [{}]: rows come first", width,
                fmt::join(input.sizes(), ", "));
  // Self-attention projects its one input in one product. Otherwise each of the three inputs is projected by its part of the weight.
  const auto part = [&](const at::Tensor& input, std::int64_t which) {
    return recorded_linear(input, in_proj_weight.narrow(0, which * width, width),
                           options.bias() ? in_proj_bias.narrow(0, which * width, width) : at::Tensor());
  };
  std::vector<at::Tensor> projected;
  if (query.is_same(key) && key.is_same(value))
    projected = recorded_linear(query, in_proj_weight, in_proj_bias).chunk(3, -1);
  else
    projected = {part(query, 0), part(key, 1), part(value, 2)};

  const auto by_head = [&](const at::Tensor& input) {
    return input.reshape({input.size(0), input.size(1), heads, width / heads}).transpose(1, 2);
  };
  at::Tensor scores = by_head(projected[0]).matmul(by_head(projected[1]).transpose(2, 3)) / std::sqrt(static_cast<double>(width / heads));
  if (mask.defined())
    scores = mask.scalar_type() == at::kBool ? scores.masked_fill(mask, -std::numeric_limits<float>::infinity()) : scores + mask;
  const at::Tensor weights = at::dropout(scores.softmax(-1), options.dropout(), is_training());
  return out_proj->forward(weights.matmul(by_head(projected[2])).transpose(1, 2).reshape(query.sizes()));
}

at::Tensor causal_mask(std::int64_t positions) { return at::ones({positions, positions}, at::kBool).triu(1); }

}  // namespace fodp::nn
