#include "fodp/accounting/merged_events.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fodp/accounting/pld.h"

namespace fodp {
namespace {

const Event kOne = Event::gaussian(1), kTwo = Event::poisson_gaussian(.1, 2), kThree = Event::poisson_gaussian(.1, 2, .001);

TEST(MergedEvents, EqualOnesAreOneInTheOrderTheyCame) {
  EXPECT_EQ(merged({{kTwo, 3}, {kOne, 1}, {kThree, 0}, {kTwo, 2}}), (Events{{kTwo, 5}, {kOne, 1}}));
  EXPECT_EQ(together({{kOne, 1}}, {{kTwo, 2}, {kOne, 4}}), (Events{{kOne, 5}, {kTwo, 2}}));
}

TEST(Covering, IsThePlanWhereTheRunWasLeftEarlyAndMoreWhereMoreWasCharged) {
  const Events plan{{kTwo, 10}, {kOne, 2}, {kTwo, 5}};
  EXPECT_EQ(covering(plan, {}), (Events{{kTwo, 15}, {kOne, 2}}));
  EXPECT_EQ(covering(plan, {{kOne, 1}, {kTwo, 7}}), (Events{{kTwo, 15}, {kOne, 2}}));
  EXPECT_EQ(covering(plan, {{kTwo, 9}, {kThree, 1}, {kTwo, 9}}), (Events{{kTwo, 18}, {kOne, 2}, {kThree, 1}}));
}

double tail(double x) { return .5 * std::erfc(x / std::sqrt(2)); }

// The exact delta of one Gaussian release at noise multiplier 1.
double gaussian_delta(double epsilon) { return tail(epsilon - .5) - std::exp(epsilon) * tail(epsilon + .5); }

// The exact delta of this mechanism: it releases N(x, 1), stops there if that is further than `extreme` from 1/2, and else releases N(x, 1)
// again; x is 1 with the record and 0 without. The integral goes over the first release; what the second adds has a closed form.
double delta_of_stopping(double epsilon, double extreme) {
  constexpr int kPoints = 1 << 18;
  constexpr double kFrom = -12, kTo = 13, kStep = (kTo - kFrom) / kPoints;
  double delta = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double y = kFrom + (i + .5) * kStep, loss = y - .5;
    const double density = std::exp(-.5 * (y - 1) * (y - 1)) / std::sqrt(2 * M_PI);
    const bool stops = std::abs(loss) > extreme;
    delta += kStep * density * (stops ? std::max(0., 1 - std::exp(epsilon - loss)) : gaussian_delta(epsilon - loss));
  }
  return delta;
}

// Whether the run stops depends on the first result. Had it stopped after one release, the cost of that one release would be reported.
TEST(Covering, HoldsForAStopThatDependsOnResultsAndTheChargedEventsAloneDoNot) {
  const PldAccountant accountant;
  const double delta = 1e-5;
  const Events plan{{kOne, 2}}, charged{{kOne, 1}};
  const double alone = accountant.epsilon(charged, delta).epsilon, covered = accountant.epsilon(covering(plan, charged), delta).epsilon;
  EXPECT_NEAR(delta_of_stopping(alone, 0), delta, 1e-3 * delta) << "a run that always stops after one release";
  EXPECT_GT(delta_of_stopping(alone, 3), 15 * delta);
  EXPECT_LE(delta_of_stopping(covered, 3), delta);
}

}  // namespace
}  // namespace fodp
