#include "fodp/gradients/linear.h"

#include <random>

#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include "fodp/gradients/clip.h"
#include "gradients/one_by_one.h"
#include "known_sum.h"

namespace fodp {
namespace {

using fodp::testing::gradients_one_by_one;
using fodp::testing::norm;
using fodp::testing::opened;

struct Case {
  std::int64_t rows, in, hidden, out;
  bool bias;
};

// The clipped sum of a two-layer model, by the tape and by autograd one by one.
void expect_agreement(const Case& c, const ClipOptions& options) {
  torch::manual_seed(c.rows * 1000 + c.in);
  const auto layer = [&](auto in, auto out) { return torch::nn::LinearOptions(in, out).bias(c.bias); };
  torch::nn::Sequential model(nn::Linear(layer(c.in, c.hidden)), torch::nn::Tanh(), nn::Linear(layer(c.hidden, c.out)));
  torch::nn::Sequential reference(torch::nn::Linear(layer(c.in, c.hidden)), torch::nn::Tanh(), torch::nn::Linear(layer(c.hidden, c.out)));
  reference->to(at::kDouble);
  {
    at::NoGradGuard guard;
    for (auto& item : reference->named_parameters()) item.value().copy_(model->named_parameters()[item.key()]);
  }
  const at::Tensor inputs = 3 * torch::randn({c.rows, c.in});
  const at::Tensor exact = inputs.to(at::kDouble);
  const auto gradients = gradients_one_by_one(
      *reference, c.rows, [&](std::int64_t row) { return reference->forward(exact.slice(0, row, row + 1)).square().sum(); });

  FlatParameters flat(*model);
  const Clipper clipper(
      *model, flat, [&](const at::Tensor& x, const at::Tensor&) { return model->forward(x).square().sum(1); }, options, 128);
  Blocks blocks(1);
  for (std::int64_t i = 0; i < c.rows; ++i) blocks[0].push_back(i);
  ClipDiagnostics seen;
  ClippedSum sum = clipper.clipped_sum(
      blocks, 1,
      [&](std::span<const std::int64_t> rows) {
        return Batch{inputs.slice(0, 0, static_cast<std::int64_t>(rows.size())), at::Tensor()};
      },
      &seen);

  std::vector<double> expected(flat.size(), 0.0);
  double norms = 0, largest = 0;
  for (const auto& gradient : gradients) {
    const double length = norm(gradient);
    norms += length;
    largest = std::max(largest, length);
    for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += gradient[k] * clip_factor(length, options);
  }
  const std::vector<float> actual = opened(std::move(sum));
  double difference = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) difference += std::pow(actual[k] - expected[k], 2);
  EXPECT_LT(std::sqrt(difference), 2e-4 * options.clip_norm * std::max<double>(1, c.rows)) << c.rows << " rows";
  EXPECT_LT(std::sqrt(difference), 1e-3 * (norm(expected) + options.clip_norm));
  EXPECT_EQ(seen.rows, c.rows);
  EXPECT_NEAR(seen.norm_sum, norms, 1e-4 * norms);
  EXPECT_NEAR(seen.largest_norm, largest, 1e-4 * largest);
}

TEST(Linear, ClippedSumAndNormsEqualAutogradOneByOne) {
  std::mt19937 engine(5);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  std::vector<Case> cases = {{0, 3, 2, 2, true}, {1, 1, 1, 1, true}, {1, 5, 4, 3, false}, {128, 7, 5, 3, true}};
  for (int i = 0; i < 25; ++i) cases.push_back({pick(0, 40), pick(1, 60), pick(1, 30), pick(1, 12), pick(0, 1) == 1});
  for (const Case& c : cases)
    for (const ClipOptions& options : {ClipOptions{}, ClipOptions{.clip_norm = .05}, ClipOptions{.clip_norm = 1e4},
                                       ClipOptions{.clip_norm = .5, .clipping = Clipping::automatic}})
      expect_agreement(c, options);
}

TEST(Linear, FrozenHalvesGetNothing) {
  nn::Linear layer(2, 2);
  layer->weight.requires_grad_(false);
  FlatParameters flat(*layer);
  const Clipper clipper(
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
