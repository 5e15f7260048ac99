#include "fodp/accounting/run_choice.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/calibrate.h"
#include "fodp/accounting/pld.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::int64_t kMlp = 52650, kLinear = 170;  // parameters

TEST(RunChoice, SixtyThousandExamplesHaveTheRateOfTheBenchmarks) {
  EXPECT_EQ(planned_size(60000, kMlp), (RunSize{.0171, 585}));
  EXPECT_EQ(planned_size(1000000, kMlp), (RunSize{.0171, 585}));
  EXPECT_NEAR(usual_epochs(60000, kMlp), 10, .01);
}

TEST(RunChoice, FewerExamplesHaveLargerRatesAndAsManyRowsInAll) {
  EXPECT_EQ(planned_size(32561, kMlp), (RunSize{.0315, 585}));
  EXPECT_EQ(planned_size(5000, kMlp), (RunSize{.205, 585}));
  EXPECT_EQ(planned_size(1000, kMlp), (RunSize{1, 585}));
  EXPECT_EQ(planned_size(1, kMlp), (RunSize{1, 585}));
  for (std::int64_t examples : {2000, 5000, 7777, 32561, 59999})
    EXPECT_NEAR(planned_size(examples, kMlp).sample_rate * static_cast<double>(examples) / 1026, 1, .01) << examples;
}

TEST(RunChoice, SmallModelsHaveTwiceTheSteps) {
  EXPECT_EQ(planned_size(32561, kLinear), (RunSize{.0315, 1170}));
  EXPECT_EQ(planned_size(60000, kSmallModel), (RunSize{.0171, 585}));
  EXPECT_EQ(planned_size(60000, kSmallModel - 1), (RunSize{.0171, 1170}));
  EXPECT_DOUBLE_EQ(usual_epochs(32561, kLinear), 2 * usual_epochs(32561, kMlp));
}

TEST(RunChoice, EpochsAreNeverPassed) {
  for (std::int64_t examples : {1, 3, 100, 5000, 60000, 100000000})
    for (double epochs : {1e-4, .5, 1., 9.99, 10., 123.456, 585., 1e6}) {
      const RunSize size = planned_size(examples, kMlp, epochs);
      EXPECT_GE(size.steps, 1);
      EXPECT_GT(size.sample_rate, 0);
      EXPECT_LE(size.sample_rate, 1);
      EXPECT_LE(size.epochs(), epochs * (1 + 1e-9)) << examples << " " << epochs;
      for (const RunSize& other : sizes_to_compare(examples, kMlp, epochs)) EXPECT_LE(other.epochs(), epochs * (1 + 1e-9));
    }
}

TEST(RunChoice, FewRowsInAllGiveFewerSteps) {
  const RunSize size = planned_size(100, kMlp, 10);  // 1,000 rows: lots of 16 at least
  EXPECT_EQ(size.steps, 62);
  EXPECT_GE(size.sample_rate * 100, 15.9);
}

TEST(RunChoice, RefusesNoExamplesAndNoEpochs) {
  EXPECT_THROW(planned_size(0, kMlp), InputError);
  EXPECT_THROW(planned_size(-1, kMlp, 10), InputError);
  EXPECT_THROW(planned_size(100, kMlp, 0), InputError);
  EXPECT_THROW(planned_size(100, kMlp, NAN), InputError);
}

double tight_excess(const RunSize& size, const Budget& budget) {
  const PldAccountant pld;
  const Calibrated noise = calibrate_noise_multiplier(PlannedRun{.sample_rate = size.sample_rate, .steps = size.steps}, budget, pld);
  return excess_noise(size, noise.noise_multiplier, budget);
}

TEST(RunChoice, FullBatchesHaveNoExcessNoise) {
  for (std::int64_t steps : {1, 10, 1000})
    for (const Budget& budget : {Budget{1, 1e-5}, Budget{8, 1e-6}}) EXPECT_NEAR(tight_excess({1, steps}, budget), 1, 2e-6);
}

TEST(RunChoice, ExcessNoiseByHand) {
  // The Gaussian mechanism with noise multiplier 1/mu is exactly (epsilon, delta)-private.
  const Budget budget{3, 1e-5};
  const double mu = gaussian_distance(3, 1e-5);
  EXPECT_NEAR(gaussian_delta(mu, 3).upper, 1e-5, 1e-12);
  EXPECT_DOUBLE_EQ(excess_noise({.25, 16}, 2, budget), 2 * mu);
}

// The rule in words: of all that have as many steps as the choice or more, the choice has the least excess noise.
TEST(RunChoice, HasTheLeastExcessNoiseOfItsStepsAndMore) {
  for (std::int64_t examples : {5000, 60000})
    for (double epsilon : {1., 8.}) {
      const Budget budget{epsilon, 1e-5};
      const double epochs = usual_epochs(examples, kMlp);
      const RunSize chosen = planned_size(examples, kMlp, epochs);
      const std::vector<RunSize> sizes = sizes_to_compare(examples, kMlp, epochs);
      EXPECT_EQ(std::ranges::count(sizes, chosen), 1);
      EXPECT_GE(sizes.size(), 5u);
      const double least = tight_excess(chosen, budget);
      EXPECT_GE(least, 1 - 1e-6);
      for (const RunSize& other : sizes) {
        const double excess = tight_excess(other, budget);
        if (other == chosen) continue;
        if (other.steps >= chosen.steps)
          EXPECT_GT(excess, least) << examples << " " << epsilon << " " << other.sample_rate << " " << other.steps;
        else
          EXPECT_LT(excess, least * (1 + 1e-6)) << examples << " " << epsilon << " " << other.sample_rate << " " << other.steps;
      }
    }
}

TEST(RunChoice, UsualDeltaIsAPowerOfTen) {
  EXPECT_EQ(usual_delta(60000), 1e-6);
  EXPECT_EQ(usual_delta(1000), 1e-4);
  EXPECT_EQ(usual_delta(1001), 1e-5);
  EXPECT_EQ(usual_delta(1), 1e-1);
}

}  // namespace
}  // namespace fodp
