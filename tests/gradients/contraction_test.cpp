#include "fodp/gradients/contraction.h"

#include <cmath>
#include <random>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

namespace fodp {
namespace {

// Squared norms in double, from the definition.
std::vector<double> by_definition(const at::Tensor& inputs, const at::Tensor& gradients) {
  const at::Tensor weights = gradients.to(at::kDouble).bmm(inputs.to(at::kDouble).transpose(1, 2));
  const at::Tensor squared = weights.square().sum({1, 2}).contiguous();
  return {squared.data_ptr<double>(), squared.data_ptr<double>() + squared.size(0)};
}

std::vector<double> ours(const at::Tensor& inputs, const at::Tensor& gradients) {
  std::vector<double> squared(inputs.size(0), 0.0);
  add_contracted_squared_norms(inputs, gradients, squared);
  return squared;
}

TEST(Contraction, NormsOfBothFormsEqualTheDefinition) {
  torch::manual_seed(3);
  std::mt19937 engine(8);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  int ghosts = 0, others = 0;
  for (int i = 0; i < 80; ++i) {
    const std::int64_t rows = pick(0, 9), in = pick(1, 60), out = pick(1, 60), positions = pick(0, 20);
    const at::Tensor inputs = at::randn({rows, in, positions}), gradients = at::randn({rows, positions, out}).transpose(1, 2);
    (ghost_is_cheaper(in, out, positions) ? ghosts : others) += 1;
    const auto expected = by_definition(inputs, gradients), actual = ours(inputs, gradients);
    for (std::int64_t k = 0; k < rows; ++k) EXPECT_NEAR(actual[k], expected[k], 2e-6 * expected[k] + 1e-12);
  }
  EXPECT_GT(ghosts, 10);
  EXPECT_GT(others, 10);
}

// A constant image: all inputs of a row equal, so the gradient is the sum of output gradients that nearly cancel. In float32 the ghost form
// gives a negative square here.
TEST(Contraction, CancellingPositionsDoNotBreakTheGhostNorm) {
  torch::manual_seed(5);
  const std::int64_t in = 500, out = 400, positions = 64;
  ASSERT_TRUE(ghost_is_cheaper(in, out, positions));
  const at::Tensor inputs = at::ones({3, in, positions}) * 7.3;
  at::Tensor gradients = at::randn({3, out, positions});
  gradients -= gradients.mean(2, true);
  const at::Tensor gram_a = inputs.transpose(1, 2).bmm(inputs), gram_b = gradients.transpose(1, 2).bmm(gradients);
  const double in_float = (gram_a * gram_b).sum().item<double>();
  const auto expected = by_definition(inputs, gradients), actual = ours(inputs, gradients);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GE(actual[i], 0);
    // All that is left is the rounding of `gradients` itself, some 1e-7 of what cancelled.
    EXPECT_NEAR(std::sqrt(actual[i]), std::sqrt(expected[i]), 1e-6 * std::sqrt(in * 7.3 * 7.3 * out * positions * positions));
  }
  EXPECT_GT(std::abs(in_float), 100 * (expected[0] + expected[1] + expected[2])) << "the case is no longer one that float32 gets wrong";
}

TEST(Contraction, NotFiniteRowsAreNotFiniteAndAloneInIt) {
  torch::manual_seed(1);
  for (const std::int64_t in : {3, 300}) {
    at::Tensor inputs = at::randn({3, in, 4}), gradients = at::randn({3, 200, 4});
    inputs[1][0][0] = std::nanf("");
    gradients[2][0][3] = INFINITY;
    const auto squared = ours(inputs, gradients);
    EXPECT_TRUE(std::isfinite(squared[0]));
    EXPECT_FALSE(std::isfinite(squared[1]));
    EXPECT_FALSE(std::isfinite(squared[2]));
  }
}

}  // namespace
}  // namespace fodp
