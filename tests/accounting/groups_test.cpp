#include "fodp/accounting/groups.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/rdp.h"

namespace fodp {
namespace {

std::vector<CountedStep> random_steps(unsigned seed, int count, double rate_spread, double noise_spread) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-.5, .5);
  std::vector<CountedStep> steps;
  for (int i = 0; i < count; ++i)
    steps.push_back({{.05 * std::exp(rate_spread * uniform(random)), std::exp(noise_spread * uniform(random))}, 1. + i % 3});
  return steps;
}

double count_of(const std::vector<Group>& groups) {
  double count = 0;
  for (const Group& group : groups) count += group.count;
  return count;
}

// log of the moment of a run: (order - 1) times its Renyi divergence.
double log_moment(const std::vector<CountedStep>& steps, double order) {
  double sum = 0;
  for (const auto& [event, count] : steps)
    sum += count * (order - 1) * sampled_gaussian_rdp(event.sample_rate, event.noise_multiplier, order);
  return sum;
}

double moment_excess(const SampledGaussian& event, double order) {
  return std::expm1((order - 1) * sampled_gaussian_rdp(event.sample_rate, event.noise_multiplier, order));
}

TEST(Groups, HoldEveryStepOnce) {
  for (std::size_t most : {1u, 2u, 7u, 64u, 1000u}) {
    const std::vector<CountedStep> steps = random_steps(1, 100, 1, .5);
    const std::vector<Group> groups = group_steps(steps, most);
    EXPECT_EQ(groups.size(), std::min<std::size_t>(most, steps.size()));
    double count = 0;
    for (const CountedStep& step : steps) count += step.count;
    EXPECT_EQ(count_of(groups), count);
  }
  EXPECT_TRUE(group_steps({}, 4).empty());
}

TEST(Groups, OfEnoughAreTheStepsThemselves) {
  const std::vector<CountedStep> steps = {{{.1, 1}, 2}, {{.1, 2}, 3}, {{.2, 1}, 4}};
  const std::vector<Group> groups = group_steps(steps, 5);
  ASSERT_EQ(groups.size(), 3u);
  for (const Group& group : groups) {
    EXPECT_EQ(group.share, 0);
    EXPECT_EQ(group.low, group.high);
    EXPECT_EQ(group.low, group.least);
    EXPECT_EQ(std::count(steps.begin(), steps.end(), CountedStep{group.low, group.count}), 1);
  }
}

// By every Renyi divergence, which any pair that costs less has less of.
TEST(Groups, CoinsCostAtLeastWhatTheStepsDo) {
  struct Spread {
    double rate, noise;
  };
  for (const Spread& spread : {Spread{0, .02}, Spread{0, .5}, Spread{.1, 0}, Spread{2, 0}, Spread{.5, .5}, Spread{.05, .02}})
    for (unsigned seed = 0; seed < 4; ++seed)
      for (std::size_t most : {1u, 3u}) {
        const std::vector<CountedStep> steps = random_steps(seed, 9, spread.rate, spread.noise);
        const std::vector<Group> groups = group_steps(steps, most);
        for (double order : {1.01, 1.5, 2., 5.5, 12.}) {
          double above = 0, below = 0;
          for (const Group& group : groups) {
            above += group.count *
                     std::log1p((1 - group.share) * moment_excess(group.low, order) + group.share * moment_excess(group.high, order));
            below += group.count * std::log1p(moment_excess(group.least, order));
          }
          const double exact = log_moment(steps, order);
          EXPECT_GE(above, exact * (1 - 1e-9)) << spread.rate << ' ' << spread.noise << ' ' << order;
          EXPECT_LE(below, exact * (1 + 1e-9)) << spread.rate << ' ' << spread.noise << ' ' << order;
        }
      }
}

// The lemma behind it: along a line on which rate and distance both grow, delta is convex, at every epsilon and in both directions.
TEST(Groups, DeltaIsConvexWhereRateAndDistanceGrow) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto distance = [](double noise) { return std::erf(1 / (2 * std::sqrt(2.) * noise)); };
  const auto noise_at = [&](double wanted) {
    double low = .05, high = 50;
    for (int i = 0; i < 200; ++i) {
      const double middle = std::sqrt(low * high);
      (distance(middle) > wanted ? low : high) = middle;
    }
    return low;
  };
  int positive = 0;
  for (int i = 0; i < 2000; ++i) {
    const double q = .3 * uniform(random), further_q = i % 3 == 0 ? q : q + .5 * uniform(random);
    const double z = .4 + 2 * uniform(random), nearer_z = i % 3 == 1 ? z : z * (.3 + .7 * uniform(random));
    const double share = uniform(random), epsilon = 2 * uniform(random) * uniform(random);
    const double middle_q = std::lerp(q, further_q, share), middle_z = noise_at(std::lerp(distance(z), distance(nearer_z), share));
    for (Direction direction : {Direction::remove, Direction::add}) {
      const auto delta = [&](double rate, double noise) { return sampled_gaussian_delta(rate, noise, epsilon, direction); };
      const double mixed = (1 - share) * delta(q, z).upper + share * delta(further_q, nearer_z).upper;
      EXPECT_LE(delta(middle_q, middle_z).lower, mixed * (1 + 1e-9) + 1e-15);
      positive += mixed > 1e-6;
    }
  }
  EXPECT_GT(positive, 1500);
}

TEST(Groups, AreAsManyAsTheToleranceNeeds) {
  std::vector<CountedStep> steps;
  for (int t = 0; t < 2000; ++t) steps.push_back({{.04, 1.1 - .3 * t / 1999}, 1});
  const double exact = log_moment(steps, 2);
  for (double tolerance : {1e-2, 1e-3}) {
    double above = 0, below = 0;
    for (const Group& group : groups_above(steps, tolerance))
      above += group.count * std::log1p((1 - group.share) * moment_excess(group.low, 2) + group.share * moment_excess(group.high, 2));
    for (const Group& group : groups_below(steps, 10 * tolerance)) below += group.count * std::log1p(moment_excess(group.least, 2));
    EXPECT_GE(above, exact);
    EXPECT_LE(above, exact * (1 + 1.5 * tolerance));
    EXPECT_LE(below, exact);
    EXPECT_GE(below, exact * (1 - 15 * tolerance));
  }
}

}  // namespace
}  // namespace fodp
