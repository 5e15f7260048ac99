// The assumption of docs/finite-precision.md that only the BLAS at hand can answer: a row of a product comes out the same, bit for bit,
// wherever it stands and however many rows, in multiples of kRowMultiple, stand beside it.
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "fodp/gradients/clip.h"

namespace fodp {
namespace {

TEST(Blas, ARowDependsOnItselfOnly) {
  torch::manual_seed(1);
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{3072, 64}, {784, 64}, {64, 32}, {32, 10}, {100, 7}};
  for (const auto& [in, out] : shapes) {
    const at::Tensor weight = torch::randn({out, in}), bias = torch::randn({out}), row = torch::randn({in});
    at::Tensor first;
    for (std::int64_t rows = kRowMultiple; rows <= 128; rows += kRowMultiple)
      for (std::int64_t place : {std::int64_t{0}, std::int64_t{1}, rows / 2 + 1, rows - 1}) {
        at::Tensor inputs = torch::randn({rows, in});
        inputs.select(0, place).copy_(row);
        const at::Tensor forward = at::linear(inputs, weight, bias).select(0, place);
        if (!first.defined()) first = forward.clone();
        ASSERT_TRUE(forward.equal(first)) << rows << " rows, row " << place << ", " << in << "x" << out;
      }
  }
}

TEST(Blas, ARowOfTheBackwardProductDependsOnItselfOnly) {
  torch::manual_seed(2);
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{64, 32}, {32, 10}, {784, 64}};
  for (const auto& [in, out] : shapes) {
    const at::Tensor weight = torch::randn({out, in}), row = torch::randn({out});
    at::Tensor first;
    for (std::int64_t rows = kRowMultiple; rows <= 128; rows += kRowMultiple)
      for (std::int64_t place : {std::int64_t{0}, rows / 2 + 1, rows - 1}) {
        at::Tensor gradients = torch::randn({rows, out});
        gradients.select(0, place).copy_(row);
        const at::Tensor backward = gradients.mm(weight).select(0, place);
        if (!first.defined()) first = backward.clone();
        ASSERT_TRUE(backward.equal(first)) << rows << " rows, row " << place << ", " << in << "x" << out;
      }
  }
}

}  // namespace
}  // namespace fodp
