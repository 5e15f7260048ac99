// fodp plan: what to run, from public numbers; and that fodp train takes the same by itself.
#include <algorithm>
#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/pld.h"
#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PlanCommand : public Commands {};

const std::string kFashionMnist = "plan --examples 60000 --parameters 52650 --epsilon 3 --delta 1e-6";

TEST_F(PlanCommand, EveryChoiceMeetsTheBudgetAndSaysWhatItWastes) {
  const nlohmann::json plan = json(kFashionMnist);
  const double mu = gaussian_distance(3, 1e-6);
  EXPECT_NEAR(plan["gaussian_parameter"].get<double>(), mu, 1e-12);
  ASSERT_GE(plan["choices"].size(), 5u);
  for (const nlohmann::json& choice : plan["choices"]) {
    const double rate = choice["sample_rate"], sigma = choice["noise_multiplier"], epsilon = choice["epsilon"];
    const auto steps = choice["steps"].get<std::int64_t>();
    EXPECT_LE(epsilon, 3);
    EXPECT_GT(epsilon, 2.999);
    EXPECT_DOUBLE_EQ(choice["expected_lot"].get<double>(), 60000 * rate);
    EXPECT_NEAR(choice["excess_noise"].get<double>(), sigma * mu / (rate * std::sqrt(static_cast<double>(steps))), 1e-9);
    EXPECT_GE(choice["excess_noise"].get<double>(), 1 - 1e-6);
    EXPECT_GE(choice["excess_noise_with_bands"].get<double>(), 1 - 1e-6) << "no mechanism is below";
    EXPECT_GT(choice["seconds"].get<double>(), 0);
    // In exact arithmetic it costs a little less.
    const Events ideal = {{Event::poisson_gaussian(rate, sigma), steps}};
    EXPECT_LT(PldAccountant().epsilon(ideal, 1e-6).epsilon, epsilon);
  }
}

TEST_F(PlanCommand, TheChosenOneIsAmongThemAndSaysWhy) {
  const nlohmann::json plan = json(kFashionMnist);
  nlohmann::json chosen = plan["chosen"];
  EXPECT_THAT(chosen["why"].get<std::string>(), HasSubstr("excess noise"));
  chosen.erase("why");
  EXPECT_EQ(std::ranges::count(plan["choices"], chosen), 1);
  EXPECT_EQ(chosen["sample_rate"], .0171);
  EXPECT_EQ(chosen["steps"], 585);
  EXPECT_EQ(chosen["bands"], 8);
  EXPECT_LT(chosen["excess_noise_with_bands"], chosen["excess_noise"]);
}

// What is printed can be typed: the same run, and so the same learning rate.
TEST_F(PlanCommand, GivingItsChoiceByHandIsTheSameRun) {
  const std::string run = "train --data fashion-mnist --train-size 5000 --test-size 100 --method dp-sgd --epsilon 1 --dry-run ";
  const nlohmann::json planned = json(run), by_hand = json(run + "--sample-rate 0.205 --steps 585");
  for (const char* name : {"lr", "sample_rate", "steps", "noise_multiplier"}) EXPECT_EQ(planned[name], by_hand[name]) << name;
  EXPECT_LT(planned["lr"], 1) << "the method's own is 4";
  EXPECT_EQ(json(run + "--sample-rate 0.1 --steps 585")["lr"], 4);
  // Noise that cancels allows a larger rate than its multiplier alone would.
  EXPECT_EQ(json("train --data fashion-mnist --method bandmf --epsilon 3 --dry-run")["lr"], 4);
  EXPECT_THAT(fodp("train --data fashion-mnist --method bandmf --epsilon 3 --dry-run").err, HasSubstr("bands 8, order 0.75"));
  const std::string other = fodp(kFashionMnist + " --epochs-most 40").out;
  EXPECT_THAT(other, AllOf(HasSubstr("within these epochs"), Not(HasSubstr("is what fodp train"))));
}

TEST_F(PlanCommand, PeopleGetATableAndTheWarning) {
  const Outcome outcome = fodp(kFashionMnist);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("*      0.0171"), HasSubstr("--sample-rate 0.0171 --steps 585"), HasSubstr("every try counts"),
                                 HasSubstr("public rows")));
}

TEST_F(PlanCommand, SaysTheSameEveryTimeButForSeconds) {
  nlohmann::json plans[2];
  for (nlohmann::json& plan : plans) {
    plan = json("plan --examples 5000 --epsilon 1 --delta 1e-5");
    for (nlohmann::json& choice : plan["choices"]) choice.erase("seconds");
    plan["chosen"].erase("seconds");
  }
  EXPECT_EQ(plans[0], plans[1]);
  EXPECT_GT(plans[0]["chosen"]["sample_rate"], .0171) << "few examples: larger lots";
}

TEST_F(PlanCommand, KeepsWithinTheEpochsAsked) {
  for (const char* most : {"1", "3.5", "40"}) {
    const nlohmann::json plan = json("plan --examples 20000 --parameters 500 --epsilon 2 --delta 1e-6 --epochs-most " + std::string(most));
    for (const nlohmann::json& choice : plan["choices"])
      EXPECT_LE(choice["sample_rate"].get<double>() * choice["steps"].get<double>(), std::stod(most) * (1 + 1e-9));
  }
}

TEST_F(PlanCommand, RefusesWhatCannotBe) {
  for (const auto& [words, what] :
       std::vector<std::pair<std::string, std::string>>{{"--epsilon 3 --delta 1e-6", "--examples is missing"},
                                                        {"--examples 100 --delta 1e-6", "--epsilon is missing"},
                                                        {"--examples 0 --epsilon 3 --delta 1e-6", "--examples: 0"},
                                                        {"--examples 100 --epsilon 0 --delta 1e-6", "--epsilon: 0"},
                                                        {"--examples 100 --epsilon -1 --delta 1e-6", "--epsilon: -1"},
                                                        {"--examples 100 --epsilon nan --delta 1e-6", "--epsilon: nan"},
                                                        {"--examples 100 --epsilon 3 --delta 0", "--delta: 0"},
                                                        {"--examples 100 --epsilon 3 --delta 1", "--delta: 1"},
                                                        {"--examples 100 --epsilon 3 --delta 1e-6 --parameters 0", "--parameters: 0"},
                                                        {"--examples 100 --epsilon 3 --delta 1e-6 --epochs-most 0", "--epochs-most: 0"},
                                                        {"--examples 1e13 --epsilon 3", "--examples: 1e13"}}) {
    const Outcome outcome = fodp("plan " + words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_THAT(outcome.err, HasSubstr(what)) << words;
  }
}

TEST_F(PlanCommand, WarnsOfAWeakGuarantee) {
  EXPECT_THAT(fodp("plan --examples 1000 --epsilon 12 --delta 1e-3").err, AllOf(HasSubstr("above 10"), HasSubstr("not below 1/1000")));
}

const std::string kDry = "train --dry-run --data cifar-10 --train-size 5000 --test-size 100 --method dp-sgd ";

TEST_F(PlanCommand, TrainingTakesTheChoice) {
  for (const std::string budget : {"--epsilon 1 --delta 1e-5", "--epsilon 3 --delta 1e-5"}) {
    const nlohmann::json run = json(kDry + budget);
    const nlohmann::json chosen =
        json("plan --examples 5000 " + budget + " --parameters " + std::to_string(run["parameters"].get<std::int64_t>()))["chosen"];
    for (const char* name : {"sample_rate", "expected_lot", "steps", "noise_multiplier", "epsilon"}) EXPECT_EQ(run[name], chosen[name]);
  }
  EXPECT_THAT(fodp(kDry).err,
              AllOf(HasSubstr("Planned for 5000 examples"), HasSubstr("sample rate 0.205, 585 steps"), HasSubstr("fodp plan")));
}

TEST_F(PlanCommand, WhatIsGivenStays) {
  EXPECT_EQ(json(kDry + "--sample-rate .01")["steps"], 585);
  EXPECT_EQ(json(kDry + "--steps 20")["sample_rate"], .205);
  EXPECT_EQ(json(kDry + "--lot 50")["sample_rate"], .01);
  EXPECT_EQ(json(kDry + "--epochs 4")["steps"], 20);
  EXPECT_EQ(json(kDry + "--epochs 4")["sample_rate"], .205);
  EXPECT_THAT(fodp(kDry + "--sample-rate .01 --steps 20").err, Not(HasSubstr("Planned for")));
  EXPECT_THAT(fodp(kDry + "--sample-rate .01").err,
              AllOf(HasSubstr("Planned for 5000 examples: 585 steps"), Not(HasSubstr("sample rate 0.01"))));
}

}  // namespace
}  // namespace fodp
