// fodp::nn::Embedding: torch::nn::Embedding's options, names, state dict and values, with book-keeping for private training. Refused:
// max_norm and scale_grad_by_freq, which let a batch's tokens act on others.
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
  void reset_parameters();  // as PyTorch's: standard normal, 0 for the padding index
  void pretty_print(std::ostream& stream) const override;

  // Indices [rows, ...] -> [rows, ..., embedding_dim].
  at::Tensor forward(const at::Tensor& indices);

  torch::nn::EmbeddingOptions options;
  at::Tensor weight;
};

TORCH_MODULE(Embedding);

}  // namespace fodp::nn
