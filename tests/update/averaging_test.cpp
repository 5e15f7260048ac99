#include "fodp/update/averaging.h"

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

std::vector<float> average_of(WeightAverage&& average, const std::vector<float>& values) {
  for (float value : values) average.add(std::span(&value, 1));
  return average.value();
}

// Weights .25, .5, 1 over 1.75: zeros before the first step would have made them smaller.
TEST(WeightAverage, EmaByHandGivesTheStartNoWeight) {
  const auto ema = [](const std::vector<float>& values) { return average_of(EmaAverage({.averaging_decay = .5}), values)[0]; };
  EXPECT_FLOAT_EQ(ema({8}), 8);
  EXPECT_FLOAT_EQ(ema({8, 2}), (.5 * 8 + 2) / 1.5);
  EXPECT_FLOAT_EQ(ema({8, 2, 4}), (.25 * 8 + .5 * 2 + 4) / 1.75);
}

TEST(WeightAverage, OfAConstantIsThatConstant) {
  EXPECT_FLOAT_EQ(average_of(EmaAverage({}), std::vector<float>(50, -3))[0], -3);
  EXPECT_FLOAT_EQ(average_of(PolynomialAverage({}), std::vector<float>(50, -3))[0], -3);
}

TEST(WeightAverage, PolynomialOfPowerZeroIsThePlainMean) {
  EXPECT_FLOAT_EQ(average_of(PolynomialAverage({.averaging_power = 0}), {1, 2, 6, -1})[0], 2);
}

// p = 1: fresh weights 2/2, 2/3, 2/4: the steps count as 1, 2, 3 over 6.
TEST(WeightAverage, PolynomialOfPowerOneWeighsStepsByTheirNumber) {
  EXPECT_FLOAT_EQ(average_of(PolynomialAverage({.averaging_power = 1}), {5, -1, 4})[0], (5. - 2 + 12) / 6);
}

TEST(WeightAverage, StartsWithTheFirstStep) {
  EmaAverage ema({});
  EXPECT_FALSE(ema.started());
  const std::vector<float> theta = {1, 2};
  ema.add(theta);
  EXPECT_TRUE(ema.started());
  EXPECT_EQ(ema.value(), theta);
}

TEST(WeightAverage, BadOptionsAreRefused) {
  EXPECT_THROW(EmaAverage({.averaging_decay = 1}), InputError);
  EXPECT_THROW(PolynomialAverage({.averaging_power = -1}), InputError);
}

}  // namespace
}  // namespace fodp
