// fodp::nn::MultiheadAttention: softmax(Q K^T / sqrt(head) + mask) V over several heads (Vaswani et al. 2017), built from recorded linear
// maps. Names, state dict and values are those of torch.nn.MultiheadAttention(embed_dim, num_heads, batch_first=True): rows come first,
// [rows, positions, embed_dim], since the first dimension is what private training counts in.
#pragma once

#include <torch/arg.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include "fodp/gradients/linear.h"
#include "fodp/gradients/tape.h"

namespace fodp::nn {

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(std::int64_t embed_dim, std::int64_t num_heads) : embed_dim_(embed_dim), num_heads_(num_heads) {}
  TORCH_ARG(std::int64_t, embed_dim);
  TORCH_ARG(std::int64_t, num_heads);
  TORCH_ARG(double, dropout) = 0;  // of the attention weights, while training
  TORCH_ARG(bool, bias) = true;
};

class MultiheadAttentionImpl : public torch::nn::Cloneable<MultiheadAttentionImpl>, public PrivateLayer {
 public:
  MultiheadAttentionImpl(std::int64_t embed_dim, std::int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);

  void reset() override;
  void reset_parameters();  // as PyTorch's: Xavier uniform, biases 0
  void pretty_print(std::ostream& stream) const override;

  // Queries [rows, positions, embed_dim] against keys and values [rows, others, embed_dim]. The mask broadcasts to [rows, heads, positions,
  // others]: true (or -inf in a float mask, which is added) where a query must not look.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& mask = {});
  at::Tensor forward(const at::Tensor& input) { return forward(input, input, input); }  // self-attention

  MultiheadAttentionOptions options;
  at::Tensor in_proj_weight, in_proj_bias;  // queries, keys and values, one below the other
  Linear out_proj = nullptr;
};

TORCH_MODULE(MultiheadAttention);

// [positions, positions], true above the diagonal: no position looks at later ones.
at::Tensor causal_mask(std::int64_t positions);

}  // namespace fodp::nn
