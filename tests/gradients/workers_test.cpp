#include "fodp/gradients/workers.h"

#include <set>
#include <stdexcept>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

namespace fodp {
namespace {

class Workers : public ::testing::Test {
 protected:
  Workers() { at::set_num_threads(4); }
  ~Workers() override { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

TEST_F(Workers, TakeEveryItemOnce) {
  std::vector<std::atomic<int>> taken(1000);
  on_workers(1000, [&](std::int64_t i) { ++taken[static_cast<std::size_t>(i)]; });
  for (const std::atomic<int>& count : taken) ASSERT_EQ(count, 1);
  on_workers(0, [&](std::int64_t) { FAIL(); });
}

TEST_F(Workers, ComputeOnOneCoreEach) {
  std::atomic<int> many = 0;
  on_workers(8, [&](std::int64_t) {
    many += at::get_num_threads() != 1 || workers() != 1;
    const std::thread::id self = std::this_thread::get_id();
    on_workers(3, [&](std::int64_t) { many += std::this_thread::get_id() != self; });
    at::parallel_for(0, 100, 1, [&](std::int64_t, std::int64_t) { many += std::this_thread::get_id() != self; });
  });
  EXPECT_EQ(many, 0);
  EXPECT_EQ(at::get_num_threads(), 4);
  int elsewhere = 0;
  std::thread([&] { elsewhere = at::get_num_threads(); }).join();
  EXPECT_EQ(elsewhere, 4) << "a thread of the user's is not one of them";
}

TEST_F(Workers, RunAtOnce) {
  std::atomic<int> inside = 0;
  on_workers(4, [&](std::int64_t) {  // ends only if all four are inside
    ++inside;
    while (inside < 4) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 4);
}

TEST_F(Workers, PassAnExceptionOnAndGoOn) {
  EXPECT_THROW(on_workers(50,
                          [](std::int64_t i) {
                            if (i == 7) throw std::runtime_error("seven");
                          }),
               std::runtime_error);
  std::atomic<int> done = 0;
  on_workers(50, [&](std::int64_t) { ++done; });
  EXPECT_EQ(done, 50);
}

TEST_F(Workers, ServeSeveralCallers) {
  std::vector<std::thread> callers;
  std::atomic<int> done = 0;
  for (int i = 0; i < 5; ++i)
    callers.emplace_back([&] {
      at::set_num_threads(3);
      for (int k = 0; k < 40; ++k) on_workers(10, [&](std::int64_t) { ++done; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 5 * 40 * 10);
}

// The convolutions of the models, and some that stride and pad oddly: in, out, kernel, stride, padding, pixels a side.
struct ConvCase {
  std::int64_t in, out, kernel, stride, padding, side;
};
constexpr ConvCase kConvCases[] = {{1, 16, 8, 2, 3, 28},  {16, 32, 4, 2, 0, 13}, {3, 16, 3, 1, 1, 32},  {16, 16, 3, 1, 1, 32},
                                   {16, 32, 3, 2, 1, 32}, {32, 32, 3, 1, 1, 16}, {32, 64, 3, 2, 1, 16}, {64, 64, 3, 1, 1, 8},
                                   {16, 32, 1, 2, 0, 32}, {5, 7, 5, 3, 1, 19}};

struct Convolved {
  at::Tensor output, input_gradient, weight_gradient;
};

Convolved convolved(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& output_gradient, const ConvCase& c) {
  const std::vector<std::int64_t> stride(2, c.stride), padding(2, c.padding), one(2, 1), none(2, 0);
  const at::Tensor output = at::convolution(input, weight, {}, stride, padding, one, false, none, 1);
  const at::Tensor gradient = output_gradient.defined() ? output_gradient : at::ones_like(output);
  const auto [of_input, of_weight, of_bias] = at::convolution_backward(gradient, input, weight, at::OptionalIntArrayRef(), stride, padding,
                                                                       one, false, none, 1, {true, true, false});
  return {output, of_input, of_weight};
}

double apart(const at::Tensor& a, const at::Tensor& exact) {
  return ((a.to(at::kDouble) - exact).abs().max() / exact.abs().max()).item<double>();
}

// Under load: all workers convolve at once, again and again.
TEST_F(Workers, ConvolveAsDoublePrecisionDoesAloneAndToTheSameBits) {
  torch::manual_seed(5);
  for (const ConvCase& c : kConvCases) {
    const at::Tensor input = at::randn({24, c.in, c.side, c.side}), weight = at::randn({c.out, c.in, c.kernel, c.kernel});
    at::set_num_threads(1);
    const at::Tensor gradient = at::randn_like(convolved(input, weight, {}, c).output);
    const Convolved serial = convolved(input, weight, gradient, c);
    const Convolved exact = convolved(input.to(at::kDouble), weight.to(at::kDouble), gradient.to(at::kDouble), c);
    at::set_num_threads(4);
    std::vector<Convolved> found(12);
    on_workers(12, [&](std::int64_t i) { found[static_cast<std::size_t>(i)] = convolved(input, weight, gradient, c); });
    for (const Convolved& one : found) {
      EXPECT_TRUE(one.output.equal(serial.output) && one.input_gradient.equal(serial.input_gradient) &&
                  one.weight_gradient.equal(serial.weight_gradient))
          << c.in << " " << c.side;
      EXPECT_LT(apart(one.output, exact.output), 1e-5);
      EXPECT_LT(apart(one.input_gradient, exact.input_gradient), 1e-5);
      EXPECT_LT(apart(one.weight_gradient, exact.weight_gradient), 1e-5);
    }
  }
}

// What docs/finite-precision.md assumes of a convolution: another row's values do not change the bits of a row.
TEST_F(Workers, ConvolveEachRowByItself) {
  torch::manual_seed(6);
  for (const ConvCase& c : kConvCases)
    for (const std::int64_t rows : {2, 7, 64}) {
      const at::Tensor input = at::randn({rows, c.in, c.side, c.side}), weight = at::randn({c.out, c.in, c.kernel, c.kernel});
      at::Tensor other = input.clone();
      other[1].mul_(1000);
      at::Tensor gradient, other_gradient;
      std::vector<Convolved> found(2);
      on_workers(1, [&](std::int64_t) {
        gradient = at::randn_like(convolved(input, weight, {}, c).output);
        other_gradient = gradient.clone();
        other_gradient[1].mul_(-77);
        found = {convolved(input, weight, gradient, c), convolved(other, weight, other_gradient, c)};
      });
      for (std::int64_t row = 0; row < rows; ++row)
        if (row != 1) {
          EXPECT_TRUE(found[0].output[row].equal(found[1].output[row])) << c.in << " " << c.side << " " << rows << " " << row;
          EXPECT_TRUE(found[0].input_gradient[row].equal(found[1].input_gradient[row]))
              << c.in << " " << c.side << " " << rows << " " << row;
        }
    }
}

}  // namespace
}  // namespace fodp
