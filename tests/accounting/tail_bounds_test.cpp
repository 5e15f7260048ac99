#include "fodp/accounting/tail_bounds.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace fodp {
namespace {

// The sum of `count` fair coins that lose one step or gain one: its tails are known.
double coin_tail(int count, int heads) {
  double tail = 0;
  for (int k = heads; k <= count; ++k)
    tail += std::exp(std::lgamma(count + 1.) - std::lgamma(k + 1.) - std::lgamma(count - k + 1.) - count * std::log(2.));
  return tail;
}

TEST(TailBounds, HoldTheTailsOfCoins) {
  constexpr int kCount = 400;
  for (bool upward : {true, false}) {
    TailBounds bounds(20, 1, 0);
    bounds.add({.5, 0, .5}, 1, upward, kCount);
    for (int heads : {220, 260, 300, 390}) {
      const double tail = coin_tail(kCount, heads), offset = 2. * heads - kCount;
      EXPECT_GE(bounds.right_of(offset), tail) << heads;
      EXPECT_GE(bounds.left_of(-offset), tail) << heads;
      EXPECT_LE(bounds.right_of(offset), std::sqrt(tail)) << heads << ": of any use";
    }
  }
}

TEST(TailBounds, ReachLeavesOutWhatItSays) {
  TailBounds bounds(20, 1, 0);
  bounds.add({.5, 0, .5}, 1, true, 400);
  for (double unlikely : {5., 20., 60.}) {
    EXPECT_NEAR(bounds.right_of(bounds.right_reach(unlikely)), std::exp(-unlikely), 1e-6 * std::exp(-unlikely));
    EXPECT_NEAR(bounds.left_of(-bounds.left_reach(unlikely)), std::exp(-unlikely), 1e-6 * std::exp(-unlikely));
  }
}

TEST(TailBounds, TellUpFromDown) {
  TailBounds up(1, 1, 0), down(1, 1, 0);
  up.add({.9, 0, .1}, 1, true, 10);
  down.add({.9, 0, .1}, 1, false, 10);
  EXPECT_LT(up.right_of(8), 1e-4);
  EXPECT_GT(up.left_of(-8), .5);
  EXPECT_EQ(up.right_of(8), down.left_of(-8));
  EXPECT_EQ(up.left_of(-8), down.right_of(8));
}

// One loss in a million is a thousand steps, the others are none: the deviation says nothing about how far the sum goes.
TEST(TailBounds, HeavyTailsNeedToBeAskedFor) {
  std::vector<double> masses(1001);
  masses[0] = 1 - 1e-6, masses[1000] = 1e-6;
  TailBounds light(1, 1, 0), heavy(1, 1, 10000);
  light.add(masses, 0, true, 1000);
  heavy.add(masses, 0, true, 1000);
  EXPECT_GT(light.right_of(3500), .5);
  EXPECT_LT(heavy.right_of(3500), 1e-9);
  EXPECT_GE(heavy.right_of(3500), 1e-12 / 24);  // four of them
}

}  // namespace
}  // namespace fodp
