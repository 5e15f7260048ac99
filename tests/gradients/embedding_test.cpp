#include "fodp/gradients/embedding.h"

#include <random>

#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/gradients/linear.h"
#include "gradients/agreement.h"

namespace fodp {
namespace {

using testing::expect_equals_one_by_one;

TEST(Embedding, ClippedSumAndNormsEqualAutogradOneByOne) {
  std::mt19937 engine(9);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  for (int i = 0; i < 14; ++i) {
    torch::manual_seed(i);
    // Few words and many positions: tokens repeat within a row.
    const std::int64_t rows = i < 2 ? i : pick(2, 9), words = pick(1, 9), width = pick(1, 7), positions = pick(1, 12);
    torch::nn::EmbeddingOptions options(words, width);
    if (i % 3 == 0) options.padding_idx(i % 2 ? words - 1 : -1);
    torch::nn::Sequential ours(nn::Embedding(options), nn::Linear(width, 3));
    torch::nn::Sequential theirs(torch::nn::Embedding(options), torch::nn::Linear(width, 3));
    std::vector<std::int64_t> shape{rows, positions};
    if (i == 5) shape = {rows};
    expect_equals_one_by_one(
        *ours, [&](const at::Tensor& x) { return ours->forward(x); }, *theirs, [&](const at::Tensor& x) { return theirs->forward(x); },
        torch::randint(words, shape, at::kLong), 3e-4);
  }
}

TEST(Embedding, StartsWithPyTorchsValues) {
  const auto options = torch::nn::EmbeddingOptions(5, 3).padding_idx(2);
  torch::manual_seed(11);
  nn::Embedding ours(options);
  torch::manual_seed(11);
  torch::nn::Embedding theirs(options);
  EXPECT_TRUE(ours->weight.equal(theirs->weight));
}

TEST(Embedding, OptionsThatMixExamplesAreRefused) {
  EXPECT_THROW(nn::Embedding(torch::nn::EmbeddingOptions(5, 3).max_norm(1)), PrivacyError);
  EXPECT_THROW(nn::Embedding(torch::nn::EmbeddingOptions(5, 3).scale_grad_by_freq(true)), PrivacyError);
  EXPECT_THROW(nn::Embedding(torch::nn::EmbeddingOptions(5, 3).padding_idx(5)), InputError);
}

}  // namespace
}  // namespace fodp
