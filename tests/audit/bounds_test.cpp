#include "fodp/audit/bounds.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/pld.h"

namespace fodp {
namespace {

// No success in 100 trials: (1 - p)^100 = .05.
TEST(Bounds, ClopperPearsonByHand) {
  EXPECT_NEAR(upper_rate(0, 100, .05), 1 - std::pow(.05, .01), 1e-12);
  EXPECT_NEAR(lower_rate(100, 100, .05), std::pow(.05, .01), 1e-12);
  EXPECT_EQ(upper_rate(100, 100, .05), 1);
  EXPECT_EQ(lower_rate(0, 100, .05), 0);
  EXPECT_EQ(upper_rate(0, 0, .05), 1);
  EXPECT_EQ(lower_rate(0, 0, .05), 0);
}

TEST(Bounds, ClopperPearsonCoversARateAsOftenAsItSays) {
  std::mt19937 engine(1);
  std::binomial_distribution<int> hits(200, .13);
  int below = 0, above = 0;
  for (int i = 0; i < 4000; ++i) {
    const int seen = hits(engine);
    below += upper_rate(seen, 200, .05) < .13;
    above += lower_rate(seen, 200, .05) > .13;
  }
  EXPECT_LE(below, .06 * 4000);
  EXPECT_GE(below, .02 * 4000);
  EXPECT_LE(above, .06 * 4000);
  EXPECT_GE(above, .02 * 4000);
}

TEST(Bounds, CountedEpsilonIsTheLogarithmOfTheRatesThatAreSure) {
  const TestCounts counts{1000, 500, 1000, 10};
  const double expected = std::log((lower_rate(500, 1000, .025) - 1e-5) / upper_rate(10, 1000, .025));
  EXPECT_NEAR(counted_epsilon(counts, 1e-5, .05), expected, 1e-12);
  EXPECT_EQ(counted_epsilon({1000, 100, 1000, 100}, 1e-5, .05), 0);
  EXPECT_GT(counted_epsilon(TestCounts{1000, 990, 1000, 500}.reversed(), 1e-5, .05), 3);
}

// The paper's examples: all of 100 guesses right, without delta: p^100 = .05 with p = e^eps / (1 + e^eps).
TEST(Bounds, OneRunByHand) {
  const double p = std::pow(.05, .01);
  EXPECT_NEAR(one_run_epsilon(1000, 100, 100, 0, .05), std::log(p / (1 - p)), 1e-3);
  EXPECT_EQ(one_run_epsilon(1000, 100, 50, 0, .05), 0);
  EXPECT_EQ(one_run_epsilon(1000, 0, 0, 0, .05), 0);
  EXPECT_LT(one_run_epsilon(1000, 100, 100, 1e-4, .05), one_run_epsilon(1000, 100, 100, 0, .05));
}

// A Gaussian mechanism with z = 1 at the threshold 1/2, with very many trials: the bound is close to its epsilon and not above.
TEST(Bounds, GaussianBoundReachesTheEpsilonOfAGaussianMechanism) {
  const Events events = {{Event::gaussian(1), 1}};
  const PldAccountant accountant;
  const double truth = accountant.epsilon(events, 1e-5).epsilon;
  const auto rate = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
  const std::int64_t trials = 100'000'000;
  const TestCounts counts{trials, std::llround(rate(-.5) * trials), trials, std::llround(rate(.5) * trials)};
  const double bound = gaussian_epsilon(counts, events, 1e-5, accountant, .05);
  EXPECT_LE(bound, truth);
  EXPECT_GT(bound, .995 * truth);
  // The claim may be wrong by any factor: the bound is that of what was measured.
  EXPECT_NEAR(gaussian_epsilon(counts, {{Event::gaussian(4), 1}}, 1e-5, accountant, .05), bound, 1e-3 * truth);
  EXPECT_NEAR(gaussian_epsilon(counts, {{Event::gaussian(.3), 1}}, 1e-5, accountant, .05), bound, 1e-3 * truth);
}

}  // namespace
}  // namespace fodp
