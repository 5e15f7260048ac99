#include "fodp/update/averaging.h"

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

std::vector<float> average_of(const AveragingOptions& options, const std::vector<float>& values) {
  WeightAverage average(options);
  for (float value : values) average.add(std::span(&value, 1));
  return average.value();
}

// Weights .25, .5, 1 over 1.75: zeros before the first step would have made them smaller.
TEST(WeightAverage, EmaByHandGivesTheStartNoWeight) {
  const AveragingOptions options{.averaging = Averaging::ema, .averaging_decay = .5};
  EXPECT_FLOAT_EQ(average_of(options, {8})[0], 8);
  EXPECT_FLOAT_EQ(average_of(options, {8, 2})[0], (.5 * 8 + 2) / 1.5);
  EXPECT_FLOAT_EQ(average_of(options, {8, 2, 4})[0], (.25 * 8 + .5 * 2 + 4) / 1.75);
}

TEST(WeightAverage, OfAConstantIsThatConstant) {
  for (Averaging kind : {Averaging::ema, Averaging::polynomial})
    EXPECT_FLOAT_EQ(average_of({.averaging = kind}, std::vector<float>(50, -3))[0], -3);
}

TEST(WeightAverage, PolynomialOfPowerZeroIsThePlainMean) {
  const AveragingOptions options{.averaging = Averaging::polynomial, .averaging_power = 0};
  EXPECT_FLOAT_EQ(average_of(options, {1, 2, 6, -1})[0], 2);
}

// p = 1: fresh weights 2/2, 2/3, 2/4: the steps count as 1, 2, 3 over 6.
TEST(WeightAverage, PolynomialOfPowerOneWeighsStepsByTheirNumber) {
  const AveragingOptions options{.averaging = Averaging::polynomial, .averaging_power = 1};
  EXPECT_FLOAT_EQ(average_of(options, {5, -1, 4})[0], (5. - 2 + 12) / 6);
}

TEST(WeightAverage, IsActiveOnlyWhereAskedForAndAfterAStep) {
  WeightAverage none({}), ema({.averaging = Averaging::ema});
  EXPECT_FALSE(ema.active());
  const std::vector<float> theta = {1, 2};
  none.add(theta);
  ema.add(theta);
  EXPECT_FALSE(none.active());
  EXPECT_TRUE(ema.active());
  EXPECT_EQ(ema.value(), theta);
}

TEST(WeightAverage, BadOptionsAreRefused) {
  EXPECT_THROW(WeightAverage({.averaging_decay = 1}), InputError);
  EXPECT_THROW(WeightAverage({.averaging_power = -1}), InputError);
}

}  // namespace
}  // namespace fodp
