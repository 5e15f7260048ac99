#include "fodp/gradients/attention.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/gradients/mixing.h"
#include "gradients/agreement.h"

namespace fodp {
namespace {

using testing::expect_equals_one_by_one;

// Torch's takes positions first.
at::Tensor theirs_rows_first(torch::nn::MultiheadAttention& layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const at::Tensor& mask = {}) {
  return std::get<0>(layer->forward(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), {}, false, mask)).transpose(0, 1);
}

TEST(MultiheadAttention, SelfAttentionEqualsAutogradOneByOne) {
  for (int i = 0; i < 6; ++i) {
    torch::manual_seed(i);
    const std::int64_t rows = i < 2 ? i : 3 + i, heads = 1 + i % 3, width = heads * 4, positions = 2 + i;
    nn::MultiheadAttention ours(nn::MultiheadAttentionOptions(width, heads).bias(i != 4));
    torch::nn::MultiheadAttention theirs(torch::nn::MultiheadAttentionOptions(width, heads).bias(i != 4));
    const at::Tensor mask = i == 3 ? nn::causal_mask(positions) : at::Tensor();
    // Torch's C++ layer adds the mask, whatever its type.
    const at::Tensor added = i == 3 ? torch::zeros({positions, positions}, at::kDouble).masked_fill(mask, -INFINITY) : at::Tensor();
    expect_equals_one_by_one(
        *ours, [&](const at::Tensor& x) { return ours->forward(x, x, x, mask); }, *theirs,
        [&](const at::Tensor& x) { return theirs_rows_first(theirs, x, x, x, added); }, torch::randn({rows, positions, width}), 5e-4);
  }
}

// Queries, keys and values of three inputs: the weight is used in three parts.
TEST(MultiheadAttention, CrossAttentionEqualsAutogradOneByOne) {
  torch::manual_seed(2);
  nn::MultiheadAttention ours(8, 2);
  torch::nn::MultiheadAttention theirs(8, 2);
  const auto split = [](const at::Tensor& x) { return std::array{x.slice(1, 0, 3), x.slice(1, 2, 6), x.slice(1, 5, 9)}; };
  expect_equals_one_by_one(
      *ours,
      [&](const at::Tensor& x) {
        const auto [q, k, v] = split(x);
        return ours->forward(q, k, v);
      },
      *theirs,
      [&](const at::Tensor& x) {
        const auto [q, k, v] = split(x);
        return theirs_rows_first(theirs, q, k, v);
      },
      torch::randn({5, 9, 8}), 5e-4);
}

TEST(MultiheadAttention, LaterPositionsAreNotSeenUnderACausalMask) {
  torch::manual_seed(1);
  nn::MultiheadAttention layer(8, 2);
  const at::Tensor x = torch::randn({2, 5, 8});
  at::Tensor altered = x.clone();
  altered.select(1, 4).fill_(3);
  const at::Tensor mask = nn::causal_mask(5);
  EXPECT_TRUE(layer->forward(x, x, x, mask).slice(1, 0, 4).allclose(layer->forward(altered, altered, altered, mask).slice(1, 0, 4)));
}

TEST(MultiheadAttention, DropoutIsEachRowsOwn) {
  nn::MultiheadAttention layer(nn::MultiheadAttentionOptions(8, 2).dropout(.3));
  EXPECT_NO_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x); }, std::vector<std::int64_t>{5, 8}));
}

TEST(MultiheadAttention, BadShapesAreRefused) {
  EXPECT_THROW(nn::MultiheadAttention(7, 2), InputError);
  EXPECT_THROW(nn::MultiheadAttention(8, 2)->forward(torch::ones({5, 8})), InputError);
}

}  // namespace
}  // namespace fodp
