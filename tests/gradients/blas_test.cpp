// The assumption of docs/finite-precision.md that only the BLAS at hand can answer: a row of a product, in its place, comes out the same,
// bit for bit, whatever the other rows hold. (Its place may matter: OpenBLAS treats columns by twelves.)
#include <limits>

#include <ATen/ops/linear.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

namespace fodp {
namespace {

void expect_rows_apart(const std::function<at::Tensor(const at::Tensor&)>& product, std::int64_t width) {
  const at::Tensor row = torch::randn({width});
  for (std::int64_t rows : {1, 2, 7, 16, 57, 100, 128})
    for (std::int64_t place = 0; place < rows; place += 1 + rows / 5) {
      at::Tensor first;
      for (float others : {0.0f, 1.0f, 1e30f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        at::Tensor inputs = torch::randn({rows, width}) * others;
        inputs.select(0, place).copy_(row);
        const at::Tensor result = product(inputs).select(0, place);
        if (!first.defined()) first = result.clone();
        ASSERT_TRUE(result.equal(first)) << rows << " rows, row " << place << ", others times " << others;
      }
    }
}

const std::pair<std::int64_t, std::int64_t> kShapes[] = {{3072, 64}, {784, 64}, {64, 32}, {32, 10}, {100, 7}, {5, 1}};

TEST(Blas, ARowOfTheForwardProductDoesNotSeeTheOthers) {
  torch::manual_seed(1);
  for (const auto& [in, out] : kShapes) {
    const at::Tensor weight = torch::randn({out, in}), bias = torch::randn({out});
    expect_rows_apart([&](const at::Tensor& inputs) { return at::linear(inputs, weight, bias); }, in);
  }
}

TEST(Blas, ARowOfTheBackwardProductDoesNotSeeTheOthers) {
  torch::manual_seed(2);
  for (const auto& [in, out] : kShapes) {
    const at::Tensor weight = torch::randn({out, in});
    expect_rows_apart([&](const at::Tensor& gradients) { return gradients.mm(weight); }, out);
  }
}

}  // namespace
}  // namespace fodp
