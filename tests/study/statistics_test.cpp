#include "study/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fodp::app {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// scipy.stats.t.interval(.95, 4, mean, sem) of these five accuracies.
TEST(Statistics, TheIntervalIsStudents) {
  const Estimate got = estimate(std::vector{.3775, .3810, .3835, .3790, .3801});
  EXPECT_EQ(got.n, 5);
  EXPECT_NEAR(got.mean, .38022, 1e-12);
  EXPECT_NEAR(*got.std, .0022509997778764907, 1e-12);
  EXPECT_NEAR(*got.low, .38022 - 2.7764451051978 * .0022509997778764907 / std::sqrt(5.0), 1e-12);
  EXPECT_NEAR(*got.high, .38022 + 2.7764451051978 * .0022509997778764907 / std::sqrt(5.0), 1e-12);
}

TEST(Statistics, OneValueHasNoInterval) {
  const Estimate got = estimate(std::vector{.4});
  EXPECT_EQ(got.n, 1);
  EXPECT_EQ(got.mean, .4);
  EXPECT_FALSE(got.std || got.low || got.high);
  EXPECT_EQ(estimate({}).n, 0);
}

// scipy.stats.ttest_rel of the same: t = 1.5784566588, p = .2125729631523.
TEST(Statistics, PairsAreComparedByTheirDifferences) {
  const Comparison got = compare(std::vector{1.1, 2.3, 2.9, 4.4}, std::vector{1., 2., 3., 4.});
  EXPECT_NEAR(got.mean, .175, 1e-12);
  EXPECT_NEAR(*got.p, .2125729631523, 1e-12);
  EXPECT_LT(*got.low, 0);
  EXPECT_GT(*got.high, .175);
  EXPECT_EQ(*compare(std::vector{1., 2.}, std::vector{1., 2.}).p, 1);
  const Comparison without_spread = compare(std::vector{.55, .65}, std::vector{.5, .6});
  EXPECT_NEAR(without_spread.mean, .05, 1e-12);
  EXPECT_FALSE(without_spread.p || without_spread.low || without_spread.high) << "two equal differences are no certainty";
}

// By hand: sorted .01, .02, .03, .04 times 4, 3, 2, 1 and never falling.
TEST(Statistics, HolmMultipliesByTheTestsThatAreLeft) {
  EXPECT_THAT(holm(std::vector{.04, .01, .03, .02}), Pointwise(DoubleNear(1e-12), {.06, .04, .06, .06}));
  EXPECT_THAT(holm(std::vector{.5, .9}), ElementsAre(1, 1));
  EXPECT_TRUE(holm({}).empty());
}

TEST(Statistics, TheTestSetsOwnError) {
  EXPECT_NEAR(sampling_error(.36, 2000), std::sqrt(.36 * .64 / 2000), 1e-15);
  EXPECT_EQ(sampling_error(1.0, 2000), 0);
}

}  // namespace
}  // namespace fodp::app
