#include "fodp/accounting/group_privacy.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/group_loss.h"
#include "fodp/accounting/pld.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

Events run(double q, double z, std::int64_t steps) { return {{Event::poisson_gaussian(q, z), steps}}; }

double above(double t) { return .5 * std::erfc(t / std::sqrt(2.)); }

// Delta of one step for k records, from the definition: the outcomes whose ratio is above exp(epsilon) are a half-line, found by halving.
double one_step_delta(double q, double z, int k, double epsilon, bool remove) {
  std::vector<double> chance(k + 1);
  for (int j = 0; j <= k; ++j)
    chance[j] = std::exp(std::lgamma(k + 1.) - std::lgamma(j + 1.) - std::lgamma(k - j + 1.)) * std::pow(q, j) * std::pow(1 - q, k - j);
  const auto ratio = [&](double t) {
    double sum = 0;
    for (int j = 0; j <= k; ++j) sum += chance[j] * std::exp(j * t / z - j * j / (2 * z * z));
    return sum;
  };
  const double wanted = std::exp(remove ? epsilon : -epsilon);
  double low = -60, high = 60;
  for (int i = 0; i < 200; ++i) (ratio((low + high) / 2) < wanted ? low : high) = (low + high) / 2;
  double mixture = 0;
  for (int j = 0; j <= k; ++j) mixture += chance[j] * (remove ? above(low - j / z) : above(j / z - low));
  return remove ? mixture - wanted * above(low) : std::max(0., above(-low) - mixture / wanted);
}

TEST(GroupPrivacy, OneRecordIsTheAccountantsEpsilon) {
  const Events events = run(.0171, .93, 585);
  EXPECT_EQ(group_epsilon(events, 1e-5, 1), PldAccountant().epsilon(events, 1e-5).epsilon);
  EXPECT_EQ(chained_group_epsilon(events, 1e-5, 1), PldAccountant().epsilon(events, 1e-5).epsilon);
}

TEST(GroupPrivacy, PlainGaussiansAreAsManyTimesFurtherApart) {
  for (int k : {2, 3, 8}) {
    const double exact = gaussian_epsilon(k * std::sqrt(20) / 7, 1e-6).upper, found = group_epsilon(run(1, 7, 20), 1e-6, k);
    EXPECT_GE(found, exact * (1 - 1e-14));
    EXPECT_LE(found, exact * (1 + 1e-12));
  }
}

TEST(GroupPrivacy, OneStepIsItsClosedForm) {
  for (const auto& [q, z] : {std::pair(.01, .7), std::pair(.2, 1.), std::pair(.5, 2.), std::pair(.9, 3.)})
    for (int k : {2, 5, 8})
      for (double delta : {1e-3, 1e-6}) {
        const double epsilon = group_epsilon(run(q, z, 1), delta, k);
        const auto truth = [&](double e) { return std::max(one_step_delta(q, z, k, e, true), one_step_delta(q, z, k, e, false)); };
        EXPECT_LE(truth(epsilon), delta * (1 + 1e-9)) << q << " " << z << " " << k;
        EXPECT_GT(truth(epsilon * .999), delta) << q << " " << z << " " << k;
      }
}

// The default plan at epsilon 3. The truths are from a transform of the exact losses, rounded to the nearest of a grid of 1e-4 (Python).
TEST(GroupPrivacy, EpsilonThreeGrowsFasterThanTheNumberOfRecords) {
  const Events events = run(.0171, .9263357345761365, 585);
  for (const auto& [k, truth] : {std::pair(2, 6.53823), std::pair(3, 10.49062), std::pair(5, 19.48918)}) {
    EXPECT_GE(group_epsilon(events, 1e-5, k), truth) << k;
    EXPECT_LE(group_epsilon(events, 1e-5, k), truth * 1.001) << k;
  }
  EXPECT_GE(group_epsilon(events, 1e-5, 4), 14.8);
  EXPECT_LE(group_epsilon(events, 1e-5, 4), 14.83);
}

TEST(GroupPrivacy, GrowsWithRecordsRateAndSteps) {
  double before = 0;
  for (int k = 1; k <= 8; ++k) {
    const double epsilon = group_epsilon(run(.05, 1.5, 300), 1e-6, k);
    EXPECT_GT(epsilon, before * k / std::max(1., k - 1.)) << k;  // faster than in proportion
    before = epsilon;
  }
  EXPECT_LT(group_epsilon(run(.05, 1.5, 300), 1e-6, 2), group_epsilon(run(.06, 1.5, 300), 1e-6, 2));
  EXPECT_LT(group_epsilon(run(.05, 1.5, 300), 1e-6, 2), group_epsilon(run(.05, 1.4, 300), 1e-6, 2));
  EXPECT_LT(group_epsilon(run(.05, 1.5, 300), 1e-6, 2), group_epsilon(run(.05, 1.5, 330), 1e-6, 2));
}

TEST(GroupPrivacy, SampledAndPlainStepsCompose) {
  Events both = run(.05, 1.5, 300);
  both.push_back({Event::gaussian(4), 1});
  EXPECT_GT(group_epsilon(both, 1e-6, 3), group_epsilon(run(.05, 1.5, 300), 1e-6, 3));
  // A plain step is never cheaper than a sampled one.
  EXPECT_GT(group_epsilon({{Event::gaussian(1.5), 3}}, 1e-6, 3), group_epsilon(run(.5, 1.5, 3), 1e-6, 3));
}

TEST(GroupPrivacy, ManyUnlikeStepsCostAboutWhatTheyDoOneByOne) {
  constexpr int kSteps = 1600, kKinds = 16;
  Events all, cheaper;
  for (int i = 0; i < kSteps; ++i) all.push_back({Event::poisson_gaussian(.02, 1.2 - .4 * i / kSteps), 1});
  for (int i = 0; i < kKinds; ++i) cheaper.push_back({Event::poisson_gaussian(.02, 1.2 - .4 * i / kKinds), kSteps / kKinds});
  const double least = group_epsilon(cheaper, 1e-5, 2), found = group_epsilon(all, 1e-5, 2);
  EXPECT_GT(found, least);
  EXPECT_LT(found, 1.1 * least);
}

TEST(GroupPrivacy, TheChainIsValidAndLarger) {
  for (int k : {2, 3, 5}) EXPECT_GT(chained_group_epsilon(run(.0171, .93, 585), 1e-5, k), group_epsilon(run(.0171, .93, 585), 1e-5, k));
  // A Gaussian, whose truth is known: within a third of it at a small epsilon.
  const double truth = gaussian_epsilon(.4, 1e-6).lower;
  EXPECT_GE(chained_group_epsilon(run(1, 10, 4), 1e-6, 2), truth);
  EXPECT_LE(chained_group_epsilon(run(1, 10, 4), 1e-6, 2), 1.33 * truth);
}

TEST(GroupPrivacy, EndsOfTheRange) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(group_epsilon({}, 1e-5, 2), 0);
  EXPECT_EQ(group_epsilon(run(.1, 1, 10), 1, 2), 0);
  EXPECT_EQ(group_epsilon(run(.1, 1, 10), 0, 2), infinity);
  EXPECT_EQ(group_epsilon(run(.1, 0, 10), 1e-5, 2), infinity);
  EXPECT_EQ(chained_group_epsilon(run(.1, 0, 10), 1e-5, 2), infinity);
  EXPECT_EQ(group_epsilon(run(1e-9, 1, 1), 1e-5, 5), 0);
  EXPECT_GT(group_epsilon(run(.5, .05, 10), 1e-5, 5), 1000);  // little noise: an answer, if a large one
  EXPECT_THROW(group_epsilon(run(.1, 1, 10), 1e-5, 0), InputError);
  EXPECT_THROW(group_epsilon(run(.1, 1, 10), 1e-5, 9), InputError);
  EXPECT_THROW(group_epsilon(run(.1, 1, 10), -1, 2), InputError);
}

TEST(GroupLoss, WhereUndoesAt) {
  for (double q : {1e-6, .01, .5, .99})
    for (double z : {.1, 1., 50.})
      for (std::int64_t k : {2, 8}) {
        const GroupLoss loss({q, z, k});
        for (double t : {-3., 0., 1., 6., 30.}) {
          const double at = loss.at(t);
          // Near its least value the loss does not tell where it is.
          if (!(at > loss.least() + 1e-6)) continue;
          EXPECT_NEAR(loss.at(loss.where(at)), at, 1e-13 * (1 + std::abs(at))) << q << z << k << t;
        }
        EXPECT_EQ(loss.where(loss.least() - 1e-9), -std::numeric_limits<double>::infinity());
      }
}

}  // namespace
}  // namespace fodp
