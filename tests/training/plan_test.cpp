#include "fodp/training/plan.h"

#include <cmath>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/mechanism/kernel.h"
#include "fodp/training/run_directory.h"
#include "fodp/training/statement.h"

namespace fodp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const DataSizes kPublished = {60000, 10000};

std::string complaint(const TrainOptions& options, const DataSizes& sizes = kPublished) {
  try {
    make_plan(options, sizes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TrainOptions with_privacy(PrivacyOptions privacy) {
  TrainOptions options;
  options.privacy = privacy;
  return options;
}

TEST(Plan, TheBudgetIsMetFromBelowAndNotWasted) {
  for (double epsilon : {.5, 3.0, 8.0}) {
    const Plan plan = make_plan(with_privacy({.epsilon = epsilon}), kPublished);
    EXPECT_LE(plan.spent().epsilon, epsilon);
    EXPECT_GT(plan.spent().epsilon, .999 * epsilon);
    EXPECT_LT(plan.spent_ideal().epsilon, plan.spent().epsilon);
    EXPECT_LT(plan.spent().epsilon / plan.spent_ideal().epsilon, 1.01);
    ASSERT_TRUE(plan.budget());
    EXPECT_TRUE(plan.is_private());
  }
}

TEST(Plan, PapersSettingCostsWhatThePaperSays) {
  TrainOptions options = with_privacy({.noise_multiplier = 1.1, .sample_rate = .04, .epochs = 250});
  options.data.data = "cifar-10";
  options.own.of<FractionalOptions>().beta = .9;
  const Plan plan = make_plan(options, {5000, 2000});
  EXPECT_EQ(plan.steps(), 6250);
  EXPECT_EQ(plan.expected_lot(), Schedule(200));
  EXPECT_EQ(plan.parameters(), 199082);
  EXPECT_NEAR(plan.spent_ideal().epsilon, 17.4397, .001);
  ASSERT_EQ(plan.events().size(), 1u);
  EXPECT_EQ(plan.events()[0].event.ideal(), Event::poisson_gaussian(.04, 1.1 / .9));
  EXPECT_EQ(plan.events()[0].count, 6250);
  options.method = "dp-sgd";
  EXPECT_NEAR(make_plan(options, {5000, 2000}).spent_ideal().epsilon, 21.1325, .001);
}

TEST(Plan, LotAndEpochsAreTheSameAsRateAndSteps) {
  const Plan plan = make_plan(with_privacy({.lot = 600, .epochs = 2}), kPublished);
  EXPECT_DOUBLE_EQ(plan.sample_rate().first(), .01);
  EXPECT_EQ(plan.steps(), 200);
  EXPECT_EQ(plan.eval_every(), 100);
}

TEST(Plan, WhatContradictsItselfIsRefused) {
  EXPECT_THAT(complaint(with_privacy({.sample_rate = .1, .lot = 10})), HasSubstr("`sample-rate` and `lot`"));
  EXPECT_THAT(complaint(with_privacy({.steps = 1, .epochs = 1})), HasSubstr("`steps` and `epochs`"));
  EXPECT_THAT(complaint(with_privacy({.epsilon = 1, .noise_multiplier = 1})), HasSubstr("`epsilon` and `noise-multiplier`"));
  EXPECT_THAT(complaint(with_privacy({.lot = 60001})), HasSubstr("60000"));
  EXPECT_THAT(complaint(with_privacy({.epsilon = .01, .sample_rate = 1, .steps = 1000000000})), HasSubstr("cannot be met"));
}

TEST(Plan, NoNoiseIsInfiniteAndNotPrivate) {
  const Plan plan = make_plan(with_privacy({.noise_multiplier = 0}), kPublished);
  EXPECT_TRUE(std::isinf(plan.spent().epsilon));
  EXPECT_TRUE(std::isinf(plan.spent_ideal().epsilon));
  EXPECT_FALSE(plan.is_private());
}

TEST(Plan, NoiseThatGuaranteesNothingIsNotPrivate) {
  const Plan plan = make_plan(with_privacy({.noise_multiplier = 1e-300}), kPublished);
  EXPECT_TRUE(std::isinf(plan.spent().epsilon));
  EXPECT_FALSE(plan.is_private());
}

// With a rate so small that nobody is drawn but with probability delta, a budget needs no noise.
TEST(Plan, WarnsWhereDeltaPaysForEverything) {
  const Plan plan = make_plan(with_privacy({.epsilon = 3, .delta = 1e-6, .sample_rate = 1e-8, .steps = 5}), kPublished);
  EXPECT_THAT(plan.warnings(), ::testing::ElementsAre(HasSubstr("all but published")));
}

TEST(Plan, AModelThatNoMachineHoldsIsRefused) {
  TrainOptions options;
  options.model.hidden = {1000000, 1000000};
  EXPECT_THAT(complaint(options), ::testing::AllOf(HasSubstr("`hidden`"), HasSubstr("at most")));
}

TEST(Plan, InsecureOptionsMarkTheRun) {
  TrainOptions options;
  options.insecure_seed = 1;
  options.insecure_diagnostics = true;
  EXPECT_EQ(make_plan(options, kPublished).insecure().size(), 2u);
}

TEST(Plan, WarnsOfAWeakGuarantee) {
  EXPECT_TRUE(make_plan({}, kPublished).warnings().empty());
  EXPECT_THAT(make_plan(with_privacy({.delta = 1e-4}), kPublished).warnings(), ::testing::ElementsAre(HasSubstr("delta")));
  EXPECT_THAT(make_plan(with_privacy({.epsilon = 11}), kPublished).warnings(), ::testing::ElementsAre(HasSubstr("above 10")));
}

TEST(Plan, DeltaFollowsFromTheNumberOfExamples) {
  for (const auto& [examples, delta] : std::vector<std::pair<std::int64_t, double>>{
           {1, 1e-1}, {2, 1e-2}, {10, 1e-2}, {11, 1e-3}, {1000, 1e-4}, {1001, 1e-5}, {60000, 1e-6}, {1000000, 1e-7}}) {
    const Plan plan = make_plan(with_privacy({.noise_multiplier = 4, .sample_rate = 1, .steps = 1}), {examples, 10});
    EXPECT_EQ(plan.delta(), delta) << examples;
    EXPECT_TRUE(plan.derives("delta"));
    EXPECT_TRUE(plan.privacy_warnings().empty()) << examples;
    EXPECT_THAT(privacy_statement(plan), HasSubstr(fmt::format("the largest power of ten at most 1/(10 x {})", examples)));
  }
  const Plan given = make_plan(with_privacy({.delta = 1e-6}), kPublished);
  EXPECT_FALSE(given.derives("delta"));
  EXPECT_THAT(privacy_statement(given), Not(HasSubstr("power of ten")));
}

TEST(Plan, WarningsOfPrivacyAreInTheStatement) {
  const auto warned = [](PrivacyOptions privacy, const DataSizes& sizes) {
    const Plan plan = make_plan(with_privacy(privacy), sizes);
    std::string words = privacy_statement(plan);
    for (std::size_t at = words.find('\n'); at != std::string::npos; at = words.find('\n')) words.replace(at, 1, "");
    words = std::regex_replace(words, std::regex(" +"), " ");
    for (const std::string& warning : plan.privacy_warnings()) EXPECT_THAT(words, HasSubstr(warning));
    EXPECT_EQ(plan.privacy_warnings(), plan.warnings());
    return plan.privacy_warnings();
  };
  EXPECT_THAT(warned({.delta = 1e-3}, {1000, 10}), ElementsAre(HasSubstr("delta 0.001 is not below 1/1000 examples")));
  EXPECT_THAT(warned({.delta = 9e-4}, {1000, 10}), ElementsAre(HasSubstr("delta 9e-04 is not well below 1/1000 examples")));
  EXPECT_THAT(warned({.delta = 1e-4}, {1000, 10}), ElementsAre(HasSubstr("delta 1e-04 is not well below")));
  EXPECT_THAT(warned({.delta = 9e-5}, {1000, 10}), ElementsAre());
  EXPECT_THAT(warned({.epsilon = 11}, {1000, 10}), ElementsAre(HasSubstr("above 10")));
  EXPECT_EQ(warned({.epsilon = 11, .delta = .1}, {1000, 10}).size(), 2u);
}

TEST(Plan, ResolvedOptionsLeaveNothingOpenThatApplies) {
  const nlohmann::ordered_json config = config_json(make_plan({}, kPublished));
  for (const char* name : {"lr", "noise_multiplier", "epsilon", "sample_rate", "lot", "steps", "epochs", "init_seed", "eval_every",
                           "train_size", "delta", "beta", "kappa", "zeta", "threads"})
    EXPECT_TRUE(config.at(name).is_number()) << name;
}

TEST(Plan, SpeedOptionsChangeNeitherNoiseNorCost) {
  TrainOptions small;
  small.speed.physical_batch = 7;
  EXPECT_EQ(make_plan(small, kPublished).noise_multiplier(), make_plan({}, kPublished).noise_multiplier());
  EXPECT_EQ(make_plan(small, kPublished).spent().epsilon, make_plan({}, kPublished).spent().epsilon);
}

TEST(Plan, SlackStaysBelowAQuarterPercent) {
  const Plan plan = make_plan({}, kPublished);
  EXPECT_GT(plan.slack(), 0);
  EXPECT_LE(plan.slack(), .0025);
}

TEST(Plan, WhatIsLeftOpenOfItsSizeIsPlanned) {
  const Plan open = make_plan(with_privacy({.epsilon = 3}), kPublished);
  EXPECT_EQ(open.sample_rate(), Schedule(.0171));
  EXPECT_EQ(open.steps(), 585);
  EXPECT_EQ(*open.options().update.lr, 4) << "the method's own";
  EXPECT_TRUE(open.rate_is_planned() && open.steps_are_planned());
  const Plan small = make_plan(with_privacy({.noise_multiplier = 1}), {5000, 100});
  EXPECT_EQ(small.sample_rate(), Schedule(.205));
  EXPECT_EQ(small.steps(), 585);
  const Plan with_rate = make_plan(with_privacy({.noise_multiplier = 1, .sample_rate = .01}), {5000, 100});
  EXPECT_FALSE(with_rate.rate_is_planned());
  EXPECT_EQ(with_rate.steps(), 585);
  const Plan with_steps = make_plan(with_privacy({.noise_multiplier = 1, .steps = 9}), {5000, 100});
  EXPECT_TRUE(with_steps.rate_is_planned());
  EXPECT_FALSE(with_steps.steps_are_planned());
  EXPECT_EQ(with_steps.sample_rate(), Schedule(.205));
  EXPECT_EQ(*with_steps.options().update.lr, 4);
}

// lr*sqrt(T*d)*z*C/(q*N) is the norm of the noise that the steps leave in d parameters.
TEST(Plan, TheLearningRateOfAPlannedSizeKeepsTheNoiseAtTheEndBounded) {
  TrainOptions options = with_privacy({.noise_multiplier = 7});
  options.method = "dp-sgd";
  const auto end_noise = [](const Plan& plan) {
    const double coordinates = static_cast<double>(plan.steps()) * static_cast<double>(plan.parameters());
    return *plan.options().update.lr * std::sqrt(coordinates) * 7 * plan.options().clip.clip_norm / plan.expected_lot().first();
  };
  const Plan noisy = make_plan(options, {5000, 100});
  EXPECT_LE(end_noise(noisy), kMostEndNoise);
  EXPECT_GT(end_noise(noisy), .9 * kMostEndNoise) << "two digits";
  options.clip.clip_norm = 2;
  EXPECT_LE(end_noise(make_plan(options, {5000, 100})), kMostEndNoise);
  options.update.lr = 3;
  EXPECT_EQ(*make_plan(options, {5000, 100}).options().update.lr, 3) << "given";
  options.update.lr.reset();
  options.method = "dp-adam";
  EXPECT_EQ(*make_plan(options, {5000, 100}).options().update.lr, .005) << "its steps are as long whatever the noise";
  options.method = "dp-sgd";
  options.privacy.noise_multiplier = .1;
  options.clip.clip_norm = 1;
  options.model.hidden = {4};  // 3,190 parameters
  const Plan small_model = make_plan(options, kPublished);
  EXPECT_EQ(small_model.steps(), 1170);
  EXPECT_EQ(*small_model.options().update.lr, 2) << "twice the steps, half as long";
}

}  // namespace
}  // namespace fodp
