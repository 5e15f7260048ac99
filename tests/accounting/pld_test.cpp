#include "fodp/accounting/pld.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fodp/accounting/calibrate.h"
#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Events run(double sample_rate, double noise_multiplier, std::int64_t steps) {
  return {{Event::poisson_gaussian(sample_rate, noise_multiplier), steps}};
}

// Contour integrals of the exact characteristic function in double, to a relative 1e-9; they agree with published values to all
// their digits.
struct Truth {
  double sample_rate, noise_multiplier;
  std::int64_t steps;
  double delta, epsilon;
};
constexpr Truth kTruths[] = {
    {.04, 1.1, 6250, 1e-5, 21.1320467},     {.04, 1.1 / .95, 6250, 1e-5, 19.210905}, {.04, 1.1 / .9, 6250, 1e-5, 17.439345},
    {.04, 1.1 / .8, 6250, 1e-5, 14.290261}, {.04, 1.1 / .65, 6250, 1e-5, 10.374433}, {.01, 1, 100, 1e-5, .71803566},
    {.01, 1, 1000, 1e-5, 1.828237},         {.01, 1, 10000, 1e-5, 6.187712},         {.001, .6, 100000, 1e-6, 6.96084388},
    {.001, 3, 100000, 1e-6, .433633034},    {1e-6, 1, 1000000, 1e-7, .0045176438},
};

// The same, of runs in which a record is in few lots, and delta is made of the few outcomes that show it: most of the loss lies where
// hardly any of the mass does.
constexpr Truth kRareLosses[] = {
    {1e-4, .7, 1000, 1e-8, .26797374},     {1e-5, .5, 1000000, 1e-8, 2.15850616}, {1e-5, .3, 10000, 1e-5, 5.79680123},
    {1e-6, .4, 100000, 1e-12, 5.59356234}, {1e-5, .7, 100000, 1e-12, .37050193},
};

void expect_near_and_not_below(std::span<const Truth> truths) {
  const PldAccountant accountant;
  for (const auto& [q, z, steps, delta, epsilon] : truths) {
    SCOPED_TRACE(testing::Message() << "q " << q << " z " << z << " T " << steps << " delta " << delta);
    const Spent spent = accountant.epsilon(run(q, z, steps), delta);
    const double digits = 6e-7;  // of the truths
    EXPECT_GE(spent.epsilon, epsilon - digits * std::min(1., epsilon));
    EXPECT_LE(spent.epsilon, epsilon + std::max(1e-4 * epsilon, 1e-6));
    EXPECT_LE(spent.epsilon_lower, epsilon + digits * std::min(1., epsilon));
    EXPECT_GE(spent.epsilon_lower, .99 * spent.epsilon);
    EXPECT_GT(spent.grid, 0);
    EXPECT_EQ(spent.delta, delta);
  }
}

TEST(Pld, IsNeverBelowTheTruthAndNear) { expect_near_and_not_below(kTruths); }
TEST(Pld, IsNeverBelowTheTruthAndNearWhereLossesAreRare) { expect_near_and_not_below(kRareLosses); }

TEST(Pld, DeltaOfRareLossesHoldsTheTruth) {
  const Spent spent = PldAccountant().delta(run(1e-4, .7, 1000), .26797374);
  EXPECT_GE(spent.delta, 1e-8 * (1 - 1e-6));
  EXPECT_LE(spent.delta, 1e-8 * (1 + 1e-3));
  EXPECT_LE(spent.delta_lower, 1e-8 * (1 + 1e-6));
  EXPECT_GE(spent.delta_lower, spent.delta * .98);
}

// A record in ever fewer lots costs ever less: no jumps where one way to compute takes over from another.
TEST(Pld, RareLossesCostLessTheFewerThereAre) {
  const PldAccountant accountant;
  double before = 1e9;
  for (std::int64_t steps = 64000; steps >= 1000; steps /= 4) {
    const Spent spent = accountant.epsilon(run(1e-4, .6, steps), 1e-9);
    EXPECT_LT(spent.epsilon, before) << steps;
    EXPECT_GE(spent.epsilon_lower, .99 * spent.epsilon) << steps;
    before = spent.epsilon;
  }
}

TEST(Pld, PlainGaussiansAreExact) {
  const PldAccountant accountant;
  const Spent far = accountant.epsilon({{Event::gaussian(200), 1000000}}, 1e-9);
  EXPECT_NEAR(far.epsilon, 41.8333751, 1e-6);
  EXPECT_NEAR(far.epsilon_lower, far.epsilon, 1e-10);
  EXPECT_NEAR(accountant.epsilon({{Event::gaussian(5), 100}}, 1e-12).epsilon, 15.6411258, 1e-6);
  // 1/z^2 adds: two releases on one mask are one.
  EXPECT_DOUBLE_EQ(accountant.epsilon({{Event::gaussian(3), 1}, {Event::gaussian(4), 1}}, 1e-5).epsilon,
                   accountant.epsilon({{Event::gaussian(2.4), 1}}, 1e-5).epsilon);
}

// Published values of tensorflow/privacy (commit 2cd46db) and pytorch/opacus (commit 4d0ebc8).
TEST(Pld, MeetsPublishedEpsilons) {
  const PldAccountant accountant;
  const Spent tfp = accountant.epsilon(run(.01, .35, 120), 1e-5);
  EXPECT_LE(tfp.epsilon, 18.6977407 * (1 + 1e-4));
  EXPECT_GE(tfp.epsilon, 18.69);
  EXPECT_NEAR(accountant.epsilon({{Event::gaussian(.7), 2}}, 1e-5).epsilon, 10.1224946, 1e-6);
  constexpr Truth prv[] = {
      {.001, 2, 100, 1e-6, .029104536948407488},     {.001, 3, 100, 1e-6, .021520093439088266},
      {.05, 1.5, 50000, 1e-6, 73.19017672383296},    {.05, 1.5, 100, 1e-6, 1.9538531356842002},
      {.001, 2, 20000, 1e-6, .30583793976245344},    {.001, 3, 100000, 1e-6, .4436717208808755},
      {.001, 3, 50000, 1e-6, .309694161156544},      {.001, .8, 1000, 1e-6, .4777712661845226},
      {.001, 1.5, 100, 1e-6, .03936941930952033},    {.05, .8, 100, 1e-6, 6.7410519394141},
      {.05, .8, 50000, 1e-6, 291.3843254523965},     {.001, 1.5, 50000, 1e-6, .7042183845558101},
      {.001, 1.5, 100000, 1e-6, 1.0152880750276079}, {.05, 2, 100, 1e-6, 1.2836373796240652},
  };
  for (const auto& [q, z, steps, delta, upper] : prv) {
    const Spent spent = accountant.epsilon(run(q, z, steps), delta);
    EXPECT_LE(spent.epsilon_lower, upper) << "q " << q << " z " << z << " T " << steps;
    EXPECT_GE(spent.epsilon, upper - .025) << "q " << q << " z " << z << " T " << steps;
    EXPECT_LE(spent.epsilon, upper * (1 + 1e-4)) << "q " << q << " z " << z << " T " << steps;
  }
}

TEST(Pld, LiesBelowPublishedRenyiValues) {
  const PldAccountant accountant;
  EXPECT_LE(accountant.epsilon(run(.01, .7, 120), 1e-5).epsilon_lower, 3.2392676);
  EXPECT_LE(accountant.epsilon(run(.0025, 1.3, 6000), 1e-5).epsilon_lower, .7242234026109595);
  EXPECT_LE(accountant.epsilon(run(.001, 1, 30000), 1e-7).epsilon_lower, 1.4154988495444842);
  EXPECT_LE(accountant.epsilon(run(.0064, 1, 782), 1e-6).epsilon_lower, 1.616);
}

TEST(Pld, MeetsTheCalibrationOfOpacus) {
  EXPECT_NEAR(calibrate_noise_multiplier({.04, 2000}, {8, 1e-5}, PldAccountant()).noise_multiplier, 1.2915, .002);
}

TEST(Pld, DeltaOfEachDirectionMeetsPublishedValues) {
  const PldAccountant accountant;
  EXPECT_NEAR(accountant.delta(run(.3, 1, 1), 2, Direction::remove).delta, .0003341102928869332, 1e-7);
  EXPECT_NEAR(accountant.delta(run(.8, 1, 1), 1, Direction::add).delta, .0231362104090899, 1e-7);
  EXPECT_EQ(accountant.delta(run(.4, 1. / 3, 1), 1, Direction::add).delta, 0);
  const Spent deep = accountant.delta({{Event::gaussian(100), 9999}}, 10);
  EXPECT_LE(deep.delta_lower, 9.76244035323e-23);
  EXPECT_GE(deep.delta, 9.76244035322e-23);
}

TEST(Pld, DeltaUndoesEpsilon) {
  const PldAccountant accountant;
  for (double delta : {1e-3, 1e-5, 1e-9}) {
    const Spent forth = accountant.epsilon(run(.02, 1.3, 500), delta), back = accountant.delta(run(.02, 1.3, 500), forth.epsilon);
    EXPECT_LE(back.delta_lower, delta);
    EXPECT_GE(back.delta, delta * .99);
    EXPECT_LE(back.delta, delta * (1 + 1e-4));
    EXPECT_GE(back.delta_lower, back.delta * .99);
    EXPECT_LE(back.delta_lower, back.delta);
  }
}

// One step has a closed form; two of them on the grid must not be told from a composition by hand.
TEST(Pld, GridAgreesWithTheClosedForm) {
  const PldAccountant accountant(.001);
  for (Direction direction : {Direction::remove, Direction::add})
    for (double epsilon : {.1, .5}) {
      // A second event so weak that it costs nothing forces the grid.
      const Events events{{Event::poisson_gaussian(.3, 1), 1}, {Event::poisson_gaussian(1e-9, 1e3), 1}};
      const Interval exact = sampled_gaussian_delta(.3, 1, epsilon, direction);
      const Spent spent = accountant.delta(events, epsilon, direction);
      EXPECT_GT(spent.grid, 0);
      EXPECT_GE(spent.delta, exact.lower);
      EXPECT_LE(spent.delta, exact.upper * (1 + 1e-4) + 1e-11);
      EXPECT_LE(spent.delta_lower, exact.upper + 1e-11);
      EXPECT_GE(spent.delta_lower, exact.lower * .998);
    }
}

TEST(Pld, DeltasFarBelowTheNoiseOfATransform) {
  const PldAccountant accountant;
  double last = 0;
  for (double delta : {1e-6, 1e-9, 1e-12, 1e-20, 1e-50, 1e-100}) {
    const Spent spent = accountant.epsilon(run(.01, 1, 1000), delta);
    EXPECT_GT(spent.epsilon, last);
    EXPECT_GE(spent.epsilon_lower, .98 * spent.epsilon) << delta;
    EXPECT_LE(spent.epsilon, RdpAccountant().epsilon(run(.01, 1, 1000), delta).epsilon);
    last = spent.epsilon;
  }
}

TEST(Pld, ManyStepsStayValid) {
  const PldAccountant accountant;
  for (std::int64_t steps : {10000000, 1000000000}) {
    const Spent spent = accountant.epsilon(run(1e-5, 1, steps), 1e-6);
    EXPECT_LE(spent.epsilon_lower, spent.epsilon);
    EXPECT_GE(spent.epsilon_lower, .9 * spent.epsilon);
  }
  const Spent huge = accountant.epsilon(run(.001, 1, 1000000000000), 1e-6);
  EXPECT_LE(huge.epsilon, RdpAccountant().epsilon(run(.001, 1, 1000000000000), 1e-6).epsilon);
}

TEST(Pld, EventsAddUpWhateverTheirOrder) {
  const Event a = Event::poisson_gaussian(.04, 1.1), b = Event::poisson_gaussian(.02, .9), c = Event::gaussian(20);
  const Events grouped{{a, 100}, {b, 50}, {c, 4}}, mixed{{c, 1}, {a, 60}, {b, 25}, {c, 3}, {b, 25}, {a, 40}};
  EXPECT_EQ(PldAccountant().epsilon(grouped, 1e-5).epsilon, PldAccountant().epsilon(mixed, 1e-5).epsilon);
}

// A budget that was met when a run was planned is met when it is charged.
TEST(Pld, AnswersDoNotDependOnEarlierQuestions) {
  const PldAccountant used;
  for (std::int64_t steps = 1; steps < 3000; steps = steps * 3 / 2 + 1) used.epsilon(run(.02, 1, steps), 1e-5);
  for (std::int64_t steps : {50, 700, 2500})
    EXPECT_EQ(used.epsilon(run(.02, 1, steps), 1e-5).epsilon, PldAccountant().epsilon(run(.02, 1, steps), 1e-5).epsilon);
}

TEST(Pld, ServesSeveralThreads) {
  const PldAccountant accountant;
  const double alone = accountant.epsilon(run(.02, 1, 300), 1e-5).epsilon;
  std::vector<double> found(4);
  std::vector<std::thread> threads;
  for (double& value : found)
    threads.emplace_back([&accountant, &value] {
      for (std::int64_t steps = 298; steps <= 300; ++steps) value = accountant.epsilon(run(.02, 1, steps), 1e-5).epsilon;
    });
  for (std::thread& thread : threads) thread.join();
  for (double value : found) EXPECT_EQ(value, alone);
}

TEST(Pld, TrivialCases) {
  const PldAccountant accountant;
  EXPECT_EQ(accountant.epsilon({}, 0).epsilon, 0);
  EXPECT_EQ(accountant.epsilon({{Event::gaussian(0), 0}}, 1e-5).epsilon, 0);
  EXPECT_EQ(accountant.epsilon({{Event::gaussian(0), 5}}, 1).epsilon, 0);
  EXPECT_EQ(accountant.epsilon({{Event::gaussian(0), 1}}, 1e-5).epsilon, kInfinity);
  EXPECT_EQ(accountant.epsilon({{Event::gaussian(0), 1}}, 1e-5).epsilon_lower, kInfinity);
  EXPECT_EQ(accountant.epsilon(run(.1, 1, 10), 0).epsilon, kInfinity);
  EXPECT_EQ(accountant.epsilon(run(1e-9, 1, 10), 1e-5).epsilon, 0);
  EXPECT_EQ(accountant.delta({}, 0).delta, 0);
  EXPECT_EQ(accountant.delta(run(.1, 1, 10), kInfinity).delta, 0);
  EXPECT_EQ(accountant.delta({{Event::gaussian(0), 1}}, 1).delta, 1);
  // A step without noise shows a record that is in its lot: delta is at least that chance, at every epsilon.
  EXPECT_NEAR(accountant.delta({{Event::poisson_gaussian(.1, 0), 2}}, 5).delta_lower, .19, 1e-9);
}

TEST(Pld, ChargesForSlack) {
  const PldAccountant accountant;
  EXPECT_EQ(accountant.epsilon({{Event::poisson_gaussian(.04, 1.1, .1), 100}}, 1e-5).epsilon,
            accountant.epsilon(run(.04, 1.1 / 1.1, 100), 1e-5).epsilon);
}

TEST(Pld, RefusesWhatItDoesNotKnow) {
  const PldAccountant accountant;
  EXPECT_THROW(accountant.epsilon({{Event{nullptr, 1, 1}, 1}}, 1e-5), InputError);
  EXPECT_THROW(accountant.epsilon({{Event{&kPoissonGaussianEvent, 2, 1}, 1}}, 1e-5), InputError);
  EXPECT_THROW(accountant.epsilon({{Event{&kGaussianEvent, 1, kNan}, 1}}, 1e-5), InputError);
  EXPECT_THROW(accountant.epsilon({{Event::gaussian(1), -1}}, 1e-5), InputError);
  for (double delta : {-1e-9, 1.1, kNan}) EXPECT_THROW(accountant.epsilon(run(.1, 1, 1), delta), InputError) << delta;
  for (double epsilon : {-1e-9, kNan}) EXPECT_THROW(accountant.delta(run(.1, 1, 1), epsilon), InputError) << epsilon;
  for (double width : {0., .6, kNan}) EXPECT_THROW(PldAccountant{width}, InputError) << width;
}

TEST(Pld, NarrowerOnRequest) {
  const Spent wide = PldAccountant().epsilon(run(.04, 1.1, 1000), 1e-5), narrow = PldAccountant(.001).epsilon(run(.04, 1.1, 1000), 1e-5);
  EXPECT_LE(narrow.epsilon - narrow.epsilon_lower, .001 * narrow.epsilon);
  EXPECT_GE(narrow.epsilon_lower, wide.epsilon_lower);
  EXPECT_LE(narrow.epsilon_lower, wide.epsilon);
}

// Too small for a double is not 0.
TEST(Pld, AnUpperBoundOnDeltaIsNeverZero) {
  const PldAccountant accountant;
  for (double epsilon : {50., 700., 1e6, 1e300}) {
    EXPECT_GT(accountant.delta(run(.01, 1, 100), epsilon).delta, 0) << epsilon;
    EXPECT_GT(RdpAccountant().delta(run(.01, 1, 100), epsilon).delta, 0) << epsilon;
  }
}

TEST(Pld, HardlyAnyNoiseIsAnsweredInTime) {
  const PldAccountant accountant;
  for (double noise : {1e-300, 1e-100, 1e-14, 1e-3, .019}) EXPECT_GT(accountant.epsilon(run(.01, noise, 100), 1e-5).epsilon, 1e4) << noise;
}

// Runs of unlike steps, as schedules make them: rate and noise linear in the step.
Events scheduled(int steps, double first_rate, double last_rate, double first_noise, double last_noise) {
  Events events;
  for (int t = 0; t < steps; ++t) {
    const double at = t / (steps - 1.);
    events.push_back({Event::poisson_gaussian(std::lerp(first_rate, last_rate, at), std::lerp(first_noise, last_noise, at)), 1});
  }
  return events;
}

TEST(PldGroups, AreNeverBelowTheTruthAndNear) {
  const PldAccountant each(.01, 1000);
  const PldAccountant grouped;
  struct Case {
    double first_rate, last_rate, first_noise, last_noise, delta, width;
  };
  for (const Case& c : {Case{.04, .04, 1.1, .8, 1e-5, .01}, Case{.02, .06, 1.1, 1.1, 1e-5, .01}, Case{.02, .06, 1.1, .8, 1e-8, .01},
                        Case{.01, .03, .7, 1.4, 1e-5, .02}}) {
    const Events events = scheduled(200, c.first_rate, c.last_rate, c.first_noise, c.last_noise);
    for (Direction direction : {Direction::remove, Direction::add}) {
      if (direction == Direction::add && c.first_rate != .02) continue;
      const Spent exact = each.epsilon(events, c.delta, direction), spent = grouped.epsilon(events, c.delta, direction);
      EXPECT_NE(spent.epsilon, exact.epsilon) << "not grouped at all";
      EXPECT_GE(spent.epsilon, exact.epsilon / (1 + 1e-4)) << c.first_rate << ' ' << c.last_noise;
      EXPECT_LE(spent.epsilon, exact.epsilon * (1 + .3 * c.width)) << c.first_rate << ' ' << c.last_noise;
      EXPECT_LE(spent.epsilon_lower, exact.epsilon);
      EXPECT_GE(spent.epsilon_lower, spent.epsilon * (1 - c.width)) << c.first_rate << ' ' << c.last_noise;
    }
  }
}

TEST(PldGroups, UpperEndAloneIsTheSame) {
  const PldAccountant accountant;
  for (const Events& events : {scheduled(150, .03, .05, 1.2, .9), run(.01, 1, 1000), Events{}})
    EXPECT_EQ(accountant.upper_epsilon(events, 1e-5), accountant.epsilon(events, 1e-5).epsilon);
  EXPECT_EQ(accountant.upper_epsilon({{Event::gaussian(0), 1}}, 1e-5), kInfinity);
}

TEST(PldGroups, HoldTheTrueDelta) {
  const Events events = scheduled(120, .02, .06, 1.1, .8);
  const Spent exact = PldAccountant(.01, 1000).delta(events, 2), spent = PldAccountant().delta(events, 2);
  EXPECT_NE(spent.delta, exact.delta) << "not grouped at all";
  EXPECT_GE(spent.delta, exact.delta_lower);
  EXPECT_LE(spent.delta, exact.delta * 1.01);
  EXPECT_LE(spent.delta_lower, exact.delta);
  EXPECT_GE(spent.delta_lower, exact.delta * .9);
}

TEST(PldGroups, EpsilonGrowsWithThePrefix) {
  const PldAccountant accountant;
  const Events events = scheduled(400, .03, .05, 1.2, .9);
  double before = 0;
  for (std::ptrdiff_t steps : {60, 90, 100, 150, 200, 300, 400}) {
    const double epsilon = accountant.epsilon(Events(events.begin(), events.begin() + steps), 1e-5).epsilon;
    EXPECT_GT(epsilon, before) << steps;
    before = epsilon;
  }
}

TEST(PldGroups, OrderOfTheStepsDoesNotMatter) {
  const Events events = scheduled(150, .03, .05, 1.2, .9);
  EXPECT_EQ(PldAccountant().epsilon(events, 1e-5).epsilon, PldAccountant().epsilon(Events(events.rbegin(), events.rend()), 1e-5).epsilon);
}

}  // namespace
}  // namespace fodp
