#include "fodp/gradients/linear.h"

#include <random>

#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include "clipping.h"
#include "fodp/gradients/clip.h"
#include "gradients/agreement.h"
#include "known_sum.h"

namespace fodp {
namespace {

using fodp::testing::expect_equals_one_by_one;
using fodp::testing::opened;

struct Case {
  std::int64_t rows, in, hidden, out;
  bool bias;
};

TEST(Linear, ClippedSumAndNormsEqualAutogradOneByOne) {
  std::mt19937 engine(5);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  std::vector<Case> cases = {{0, 3, 2, 2, true}, {1, 1, 1, 1, true}, {1, 5, 4, 3, false}, {128, 7, 5, 3, true}};
  for (int i = 0; i < 20; ++i) cases.push_back({pick(0, 40), pick(1, 60), pick(1, 30), pick(1, 12), pick(0, 1) == 1});
  for (const Case& c : cases) {
    torch::manual_seed(c.rows * 1000 + c.in);
    const auto layer = [&](auto in, auto out) { return torch::nn::LinearOptions(in, out).bias(c.bias); };
    torch::nn::Sequential ours(nn::Linear(layer(c.in, c.hidden)), torch::nn::Tanh(), nn::Linear(layer(c.hidden, c.out)));
    torch::nn::Sequential theirs(torch::nn::Linear(layer(c.in, c.hidden)), torch::nn::Tanh(), torch::nn::Linear(layer(c.hidden, c.out)));
    // Of two, three and four dimensions.
    for (std::vector<std::int64_t> shape : {std::vector{c.rows, c.in}, {c.rows, 3, c.in}, {c.rows, 2, 4, c.in}})
      expect_equals_one_by_one(
          *ours, [&](const at::Tensor& x) { return ours->forward(x); }, *theirs, [&](const at::Tensor& x) { return theirs->forward(x); },
          3 * torch::randn(shape));
  }
}

TEST(Linear, FrozenHalvesGetNothing) {
  nn::Linear layer(2, 2);
  layer->weight.requires_grad_(false);
  FlatParameters flat(*layer);
  const testing::TestClipper clipper(
      *layer, flat, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).sum(1); }, {.clip_norm = 100}, 128);
  const auto sum = opened(clipper.clipped_sum({{0, 1, 2}}, 1, [](std::span<const std::int64_t> rows) {
    return Batch{at::ones({static_cast<std::int64_t>(rows.size()), 2}), at::Tensor()};
  }));
  EXPECT_EQ(sum, (std::vector<float>{3, 3}));  // the bias of each output, once per row
}

TEST(Linear, StartsWithPyTorchsValues) {
  torch::manual_seed(11);
  nn::Linear ours(7, 5);
  torch::manual_seed(11);
  torch::nn::Linear theirs(7, 5);
  EXPECT_TRUE(ours->weight.equal(theirs->weight));
  EXPECT_TRUE(ours->bias.equal(theirs->bias));
}

TEST(Linear, WithoutATapeItIsAnOrdinaryLayer) {
  nn::Linear layer(3, 2);
  layer->forward(torch::ones({4, 3})).sum().backward();
  EXPECT_EQ(layer->bias.grad().sum().item<float>(), 8);
}

TEST(Linear, CloneIsIndependent) {
  nn::Linear layer(3, 2);
  auto copy = std::dynamic_pointer_cast<nn::LinearImpl>(layer->clone());
  ASSERT_TRUE(copy);
  {
    at::NoGradGuard guard;
    copy->weight.fill_(9);
  }
  EXPECT_NE(layer->weight.max().item<float>(), 9);
  EXPECT_EQ(copy->forward(torch::ones({1, 3})).dim(), 2);
}

}  // namespace
}  // namespace fodp
