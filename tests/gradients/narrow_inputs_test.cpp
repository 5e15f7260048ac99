#include "fodp/gradients/narrow_inputs.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "clipping.h"
#include "fodp/gradients/contraction.h"
#include "fodp/gradients/linear.h"
#include "known_sum.h"

namespace fodp {
namespace {

at::Tensor narrow_rows(std::int64_t rows, std::int64_t in) { return at::randn({rows, in}).to(at::kBFloat16); }

void expect_close(const at::Tensor& found, const at::Tensor& exact) {
  ASSERT_EQ(found.sizes(), exact.sizes());
  EXPECT_LT((found.to(at::kDouble) - exact).abs().max().item<double>(), 1e-5 * exact.abs().max().item<double>());
}

// Widths around the pieces that are computed at once, and numbers of rows and outputs that do not divide.
TEST(NarrowInputs, GiveWhatDoublePrecisionGives) {
  torch::manual_seed(1);
  for (const std::int64_t in : {1, 15, 16, 33, 511, 513, 1023, 1024, 1025, 5000})
    for (const std::int64_t out : {1, 3, 10, 32})
      for (const std::int64_t rows : {1, 6, 9}) {
        const at::Tensor x = narrow_rows(rows, in), weight = at::randn({out, in}), gradients = at::randn({rows, out});
        ASSERT_TRUE(is_narrow(x, weight));
        const at::Tensor exact = x.to(at::kDouble);
        expect_close(narrow_products(x, weight), exact.mm(weight.to(at::kDouble).t()));
        at::Tensor sum = at::empty({out, in});
        write_narrow_sum(gradients, x, sum);
        expect_close(sum, gradients.to(at::kDouble).t().mm(exact));
        for (std::int64_t row = 0; row < rows; ++row)
          EXPECT_NEAR(narrow_squared_norm({narrow_bits(x) + row * in, static_cast<std::size_t>(in)}),
                      exact[row].square().sum().item<double>(), 1e-12 * static_cast<double>(in));
      }
}

// docs/finite-precision.md, assumption 2: the rows beside a row do not change its bits, nor does their number.
TEST(NarrowInputs, ComputeEachRowByItself) {
  torch::manual_seed(2);
  const at::Tensor x = narrow_rows(9, 3000), weight = at::randn({10, 3000});
  const at::Tensor together = narrow_products(x, weight);
  at::Tensor other = x.clone();
  other[4].mul_(500);
  const at::Tensor changed = narrow_products(other, weight);
  for (std::int64_t row = 0; row < 9; ++row) {
    EXPECT_TRUE(together[row].equal(narrow_products(x.slice(0, row, row + 1).contiguous(), weight)[0])) << row;
    EXPECT_EQ(together[row].equal(changed[row]), row != 4);
  }
}

TEST(NarrowInputs, AreNotThoseOfManyOutputsOrOfFloats) {
  EXPECT_FALSE(is_narrow(narrow_rows(2, 5), at::randn({33, 5})));
  EXPECT_FALSE(is_narrow(at::randn({2, 5}), at::randn({3, 5})));
  EXPECT_FALSE(is_narrow(narrow_rows(2, 10).view({2, 2, 5}), at::randn({3, 5})));
}

// A layer gives the same on bfloat16 as on the floats that they stand for: outputs, norms and clipped sums, also where it widens them.
TEST(NarrowInputs, AreClippedAsFloatsAre) {
  for (const std::int64_t out : {10, 40}) {
    torch::manual_seed(3);
    nn::Linear layer(torch::nn::LinearOptions(700, out));
    FlatParameters flat(*layer);
    const testing::TestClipper clipper(
        *layer, flat, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).square().sum(1); }, {}, 128);
    const at::Tensor rows = narrow_rows(12, 700);
    const Blocks blocks = {{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9, 10, 11}};
    const auto sum_of = [&](const at::Tensor& inputs) {
      const auto opened = testing::opened(clipper.clipped_sum(blocks, 1, [&](std::span<const std::int64_t> which) {
        return Batch{inputs.slice(0, which.front(), which.back() + 1), at::Tensor()};
      }));
      return at::tensor(std::vector<double>(opened.begin(), opened.end()), at::kDouble);
    };
    const at::Tensor narrow = sum_of(rows), wide = sum_of(rows.to(at::kFloat));
    EXPECT_LT((narrow - wide).norm().item<double>(), 1e-4 * wide.norm().item<double>());
    EXPECT_GT(wide.norm().item<double>(), 1);
  }
}

}  // namespace
}  // namespace fodp
