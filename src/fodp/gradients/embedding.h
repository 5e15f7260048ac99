// fodp::nn::Embedding: torch::nn::Embedding's options, names, state dict and values, with book-keeping for private training. The options
// max_norm and scale_grad_by_freq are refused, because with them one example's tokens act on the gradients of others.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/options/embedding.h>
#include <torch/nn/pimpl.h>

#include "fodp/gradients/tape.h"

namespace fodp::nn {

class EmbeddingImpl : public torch::nn::Cloneable<EmbeddingImpl>, public PrivateLayer {
 public:
  EmbeddingImpl(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : EmbeddingImpl(torch::nn::EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(const torch::nn::EmbeddingOptions& options);

  void reset() override;
  void reset_parameters();  // initial values as in PyTorch: standard normal, 0 for the padding index
  void pretty_print(std::ostream& stream) const override;

  // Takes indices [rows, ...] and gives [rows, ..., embedding_dim].
  at::Tensor forward(const at::Tensor& indices);

  torch::nn::EmbeddingOptions options;
  at::Tensor weight;
};

TORCH_MODULE(Embedding);

}  // namespace fodp::nn
