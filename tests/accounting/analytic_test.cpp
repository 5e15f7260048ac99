#include "fodp/accounting/analytic.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "fodp/accounting/pld.h"

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_holds(const Interval& interval, double truth, double width) {
  EXPECT_LE(interval.lower, truth * (1 + 1e-15));
  EXPECT_GE(interval.upper, truth * (1 - 1e-15));
  EXPECT_LE(interval.upper - interval.lower, width * truth);
}

// mpmath, 40 digits.
TEST(Analytic, ScaledErfcIsExact) {
  EXPECT_NEAR(scaled_erfc(0), 1, 1e-15);
  EXPECT_NEAR(scaled_erfc(1) / .42758357615580700442, 1, 1e-14);
  EXPECT_NEAR(scaled_erfc(2.9999) / .17900658856623885886, 1, 1e-13);
  EXPECT_NEAR(scaled_erfc(3) / .17900115118138996, 1, 1e-14);
  EXPECT_NEAR(scaled_erfc(10) / .056140992743822585, 1, 1e-14);
  EXPECT_NEAR(scaled_erfc(1e6) / 5.6418958354747419e-7, 1, 1e-14);
  EXPECT_NEAR(scaled_erfc(-1) / 5.0089800807622834663, 1, 1e-14);
}

TEST(Analytic, GaussianDeltaIsKnown) {
  expect_holds(gaussian_delta(1, 1), .12693673750664394, 1e-12);
  // google/differential-privacy@b5b0286 and microsoft/prv_accountant@a844f72, closed forms.
  EXPECT_NEAR(gaussian_delta(1, 1).upper, .12693674, 1e-7);
  expect_holds(gaussian_delta(std::sqrt(9999.) / 100, 10), 9.7624403532281173e-23, 1e-10);
  expect_holds(gaussian_delta(1, .1), .3523251716813666, 1e-12);
}

TEST(Analytic, GaussianEpsilonUndoesDelta) {
  for (double distance : {1e-6, 1e-3, .1, 1., 5., 100., 1e6})
    for (double delta : {1e-300, 1e-30, 1e-12, 1e-5, .1, .9}) {
      const Interval epsilon = gaussian_epsilon(distance, delta);
      EXPECT_LE(epsilon.lower, epsilon.upper);
      EXPECT_LE(gaussian_delta(distance, epsilon.upper).lower, delta);
      if (epsilon.upper > 0) {
        EXPECT_LE(epsilon.upper - epsilon.lower, 1e-9 * epsilon.upper) << distance << " " << delta;
        EXPECT_GE(gaussian_delta(distance, epsilon.lower).upper, delta * (1 - 1e-6)) << distance << " " << delta;
      }
    }
}

// The corners where "pessimistic" accountants are below the truth.
TEST(Analytic, CornersOfTheGaussianAreRight) {
  EXPECT_NEAR(gaussian_epsilon(5, 1e-9).upper, 41.8333751, 1e-6);
  EXPECT_NEAR(gaussian_epsilon(2, 1e-12).upper, 15.6411258, 1e-6);
  EXPECT_NEAR(gaussian_epsilon(std::sqrt(2) / .7, 1e-5).upper, 10.1224946, 1e-6);
}

// mpmath, 50 digits: one Gaussian of this noise multiplier, delta and epsilon.
TEST(Analytic, GaussianIntervalsHoldTheTruthToTheLastDigit) {
  struct Row {
    double noise, delta;
    long double epsilon;
  };
  constexpr Row rows[] = {{1e6, 1e-15, 0.000005699073831943140360316L},
                          {1e6, 1e-10, 0.000003363015762138004922902L},
                          {1e6, 1e-07, 9.023465934661590394594e-7L},
                          {70181.75, 6.1586e-10, 0.00005094444224726925013101L},
                          {32006.25, 4.157e-15, 0.0001882615828231006376183L},
                          {7330.75, 9.9318e-08, 0.000383759172758564702308L},
                          {3938.125, 1.105e-12, 0.001383944571648328895333L},
                          {843.125, 5.4228e-11, 0.005965485282707643910462L},
                          {100.0, 1e-08, 0.0442947847576830121229L},
                          {10.0, 1e-05, 0.340669364684326408621L},
                          {2.0, 1e-12, 3.449052150482807768987L},
                          {1.0, 1e-05, 4.377178095681224608554L},
                          {0.5, 1e-09, 13.53477221916553763487L},
                          {0.2, 1e-06, 35.56634371413621482534L}};
  for (const auto& [noise, delta, epsilon] : rows) {
    const Spent spent = PldAccountant().epsilon({{Event::gaussian(noise), 1}}, delta);
    EXPECT_LE(static_cast<long double>(spent.epsilon_lower), epsilon) << noise;
    EXPECT_GE(static_cast<long double>(spent.epsilon), epsilon) << noise;
    EXPECT_LE(spent.epsilon - spent.epsilon_lower, 1e-11 * spent.epsilon) << noise;
  }
}

TEST(Analytic, LowerEndsAreBelowUpperEnds) {
  for (double noise = .2; noise < 1e6; noise *= 2.37)
    for (double delta = 1e-15; delta < .5; delta *= 13.7)
      for (std::int64_t steps : {1, 54, 76211}) {
        const Spent spent = PldAccountant().epsilon({{Event::gaussian(noise), steps}}, delta);
        ASSERT_LE(spent.epsilon_lower, spent.epsilon) << noise << " " << delta << " " << steps;
      }
}

// google/differential-privacy@b5b0286 pld/privacy_loss_mechanism_test.py: one step, each direction.
TEST(Analytic, SampledGaussianMeetsPublishedValues) {
  struct Row {
    double rate, noise, epsilon, delta;
    Direction direction;
  };
  constexpr Row rows[] = {{.2, 1, .2, .035738492, Direction::remove},
                          {.2, 1, .5, .012494629, Direction::remove},
                          {.3, 1, 2, .0003341102928869332, Direction::remove},
                          {.7, 1. / 3, 1, .5356298793262404, Direction::remove},
                          {.4, 1. / 3, 1, 0, Direction::add},
                          {.8, 1, 1, .0231362104090899, Direction::add},
                          {1, 1, 1, .12693674, Direction::remove}};
  for (const Row& row : rows) {
    const Interval delta = sampled_gaussian_delta(row.rate, row.noise, row.epsilon, row.direction);
    EXPECT_NEAR(delta.upper, row.delta, 1e-8) << row.rate;
    EXPECT_NEAR(delta.lower, row.delta, 1e-8) << row.rate;
  }
}

TEST(Analytic, IsNeverNan) {
  for (double distance : {0., 1e-300, 1e-10, 1., 1e10, 1e300, kInfinity})
    for (double epsilon : {0., 1e-300, 1., 1e300, kInfinity}) {
      const Interval delta = gaussian_delta(distance, epsilon);
      EXPECT_TRUE(0 <= delta.lower && delta.lower <= delta.upper && delta.upper <= 1) << distance << " " << epsilon;
      for (double rate : {1e-300, 1e-9, .5, 1 - 1e-16}) {
        if (distance == 0 || distance > 1e299 || distance < 1e-200) continue;
        for (Direction direction : {Direction::remove, Direction::add}) {
          const Interval sampled = sampled_gaussian_delta(rate, 1 / distance, epsilon, direction);
          EXPECT_TRUE(0 <= sampled.lower && sampled.lower <= sampled.upper && sampled.upper <= 1)
              << rate << " " << distance << " " << epsilon;
        }
      }
    }
}

}  // namespace
}  // namespace fodp
