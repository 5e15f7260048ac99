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
  TORCH_ARG(double, dropout) = 0;  // share of the attention weights that is dropped while training
  TORCH_ARG(bool, bias) = true;
};

class MultiheadAttentionImpl : public torch::nn::Cloneable<MultiheadAttentionImpl>, public PrivateLayer {
 public:
  MultiheadAttentionImpl(std::int64_t embed_dim, std::int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);

  void reset() override;
  void reset_parameters();  // initial values as in PyTorch: Xavier uniform weights, biases 0
  void pretty_print(std::ostream& stream) const override;

  // Lets queries [rows, positions, embed_dim] attend to keys and values [rows, others, embed_dim]. The mask broadcasts to [rows, heads,
  // positions, others]. A query does not attend where the mask is true; a float mask is added to the scores instead, so that -inf has the
  // same effect.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& mask = {});
  at::Tensor forward(const at::Tensor& input) { return forward(input, input, input); }  // self-attention

  MultiheadAttentionOptions options;
  at::Tensor in_proj_weight, in_proj_bias;  // queries, keys and values, one below the other
  Linear out_proj = nullptr;
};

TORCH_MODULE(MultiheadAttention);

// A mask [positions, positions] that is true above the diagonal, so that no position attends to later ones.
at::Tensor causal_mask(std::int64_t positions);

}  // namespace fodp::nn
