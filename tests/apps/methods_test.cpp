// The methods from the outside: what they cost before a run, what is told of them, and that each trains.
#include <cmath>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/methods/method.h"
#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kPaper = " --noise-multiplier 1.1 --sample-rate .04 --steps 6250 --delta 1e-5 --dry-run --data-dir /nowhere";

// The epsilon of each method in the paper's setting (docs/notation.md names the paper), asked of the program without any data.
TEST_F(Commands, TheEventTable) {
  for (const auto& [words, epsilon] : std::vector<std::pair<std::string, double>>{{"dp-sgd", 21.13},
                                                                                  {"fo-dp-sgd", 17.44},
                                                                                  {"sma-dp-sgd", 17.44},
                                                                                  {"dp-sam", 21.13},
                                                                                  {"sa-dp-sgd", 21.13},
                                                                                  {"adp-adamw", 21.13},
                                                                                  {"dp-sgd --clipping adaptive", 21.13},
                                                                                  {"dp-sgd --clipping automatic", 21.13},
                                                                                  {"fo-dp-sgd --beta .65", 10.374},
                                                                                  {"dp-adam --release fractional --beta .8", 14.29},
                                                                                  {"post-fm-dp-sgd --beta .5", 21.13},
                                                                                  {"bandmf --bands 1", 21.13}}) {
    const nlohmann::json plan = json("train --method " + words + kPaper);
    EXPECT_NEAR(plan["epsilon_ideal"].get<double>(), epsilon, .005) << words;
    EXPECT_LT(plan["epsilon"].get<double>() / plan["epsilon_ideal"].get<double>(), 1.01) << words;
    EXPECT_EQ(plan["event"].size(), 1u) << words;
    EXPECT_EQ(plan["event"][0]["count"], 6250) << words;
  }
}

TEST_F(Commands, ExtraQueriesAreStated) {
  const nlohmann::json importance = json("train --method dp-is" + kPaper)["event"];
  ASSERT_EQ(importance.size(), 2u);
  EXPECT_EQ(importance[0]["sample_rate"], .08);
  EXPECT_EQ(importance[1]["kind"], "gaussian");
  EXPECT_EQ(importance[1]["count"], 250);
  const nlohmann::json annealed = json("train --method annealed-dp-sgd --loss-noise 3" + kPaper)["event"];
  ASSERT_EQ(annealed.size(), 2u);
  EXPECT_EQ(annealed[1]["effective_noise_multiplier"], 3);
  EXPECT_EQ(annealed[1]["count"], 6250);
  const nlohmann::json banded = json("train --method bandmf --bands 4" + kPaper)["event"];
  EXPECT_EQ(banded[0]["count"], 1563);
  EXPECT_EQ(banded[0]["sample_rate"], .16);
  const nlohmann::json full = json("train --method bandmf --noise-multiplier 1 --sample-rate 1 --steps 6 --dry-run")["event"];
  EXPECT_EQ(full[0]["kind"], "gaussian") << "full lots leave room for one band";
  EXPECT_EQ(full[0]["count"], 6);
}

// mechanism/band_choice.h: 16 bands at epsilon 8, none at epsilon 1.
TEST_F(Commands, BandsAreChosenFromPublicNumbers) {
  const std::string run = "train --method bandmf --sample-rate .0171 --steps 585 --delta 1e-5 --dry-run --data-dir /nowhere ";
  const nlohmann::json weak = json(run + "--epsilon 8");
  EXPECT_DOUBLE_EQ(weak["event"][0]["sample_rate"].get<double>(), 16 * .0171);
  EXPECT_EQ(weak["event"][0]["count"], 37);
  EXPECT_EQ(json(run + "--epsilon 8 --bands auto --order auto")["event"], weak["event"]);
  EXPECT_EQ(json(run + "--epsilon 8 --bands 16 --order .2")["event"], weak["event"]) << "the order costs nothing";
  EXPECT_EQ(json(run + "--epsilon 8 --bands 2")["event"][0]["count"], 293);
  const nlohmann::json strong = json(run + "--epsilon 1");
  EXPECT_EQ(strong["event"][0]["sample_rate"], .0171);
  EXPECT_EQ(strong["event"][0]["count"], 585);
  // Noise instead of a budget: the choice of the epsilon that DP-SGD would have with it.
  EXPECT_DOUBLE_EQ(json(run + "--noise-multiplier .66")["event"][0]["sample_rate"].get<double>(), 16 * .0171);
  EXPECT_EQ(json(run + "--noise-multiplier 1.9")["event"][0]["count"], 585);
  EXPECT_EQ(json(run + "--noise-multiplier 0")["event"][0]["count"], 585);
}

TEST_F(Commands, SchedulesAreChargedPerStep) {
  const nlohmann::json plan =
      json("train --beta .9:.6 --noise-multiplier 1.2,1 --sample-rate .04 --steps 40 --dry-run --data-dir /nowhere");
  ASSERT_EQ(plan["event"].size(), 40u);
  EXPECT_NEAR(plan["event"][0]["effective_noise_multiplier"].get<double>(), 1.2 / .9, 1e-12);
  EXPECT_NEAR(plan["event"][39]["effective_noise_multiplier"].get<double>(), 1 / .6, 1e-12);
  EXPECT_EQ(plan["noise_multiplier"], "1.2,1");
  write("events.json", [&] {
    nlohmann::json list;
    for (const auto& event : plan["event"])
      list.push_back({{"sample_rate", event["sample_rate"]}, {"noise_multiplier", event["effective_noise_multiplier"]}, {"steps", 1}});
    return list.dump();
  }());
  EXPECT_NEAR(json("account --events events.json --delta 1e-6")["epsilon"].get<double>(), plan["epsilon_ideal"].get<double>(), 1e-9);
  const Outcome people = fodp("train --beta .9:.6 --epsilon 3 --steps 40 --dry-run --data-dir /nowhere");
  EXPECT_EQ(people.status, 0) << people.err;
  EXPECT_THAT(people.out, HasSubstr("40 x Poisson-sampled Gaussian, rate 0.0171, noise"));
  EXPECT_THAT(fodp("train --beta .9:0 --dry-run").err, HasSubstr("--beta"));
  EXPECT_THAT(fodp("train --beta .9:.6:.3 --dry-run").err, HasSubstr("--beta"));
}

TEST_F(Commands, MethodsTellAllThatPeopleAskFor) {
  const nlohmann::json all = json("methods")["methods"];
  EXPECT_EQ(all.size(), method_table().size());
  for (const nlohmann::json& method : all) {
    for (const char* field : {"name", "summary", "event", "source", "formula"}) EXPECT_FALSE(method[field].get<std::string>().empty());
    EXPECT_GE(method["queries_per_step"], 1);
    bool has_lr = false;
    for (const auto& option : method["options"]) has_lr |= option["name"] == "lr" && option["default"].is_number();
    EXPECT_TRUE(has_lr) << method["name"];
    const std::string told = fodp("methods " + method["name"].get<std::string>()).out;
    EXPECT_THAT(told, AllOf(HasSubstr(method["event"].get<std::string>()), HasSubstr("--lr"), HasSubstr("Options")));
  }
  EXPECT_THAT(fodp("methods").out, AllOf(HasSubstr("dp-sam (also sa-dp-sgd)"), HasSubstr("rho=0.05"), HasSubstr("2 queries")));
  EXPECT_THAT(fodp("methods sa-dp-sgd").out, HasSubstr("annealed-dp-sgd"));
}

// docs/methods.md is written by scripts/methods-page from the same table.
TEST_F(Commands, TheMethodsPageSaysWhatTheProgramSays) {
  const std::string page = content(FODP_SOURCE_DIR "/docs/methods.md");
  for (const MethodEntry* entry : method_table())
    for (std::string_view text : {entry->event, entry->source, entry->reading, entry->alias_reason})
      EXPECT_THAT(page, HasSubstr(std::regex_replace(std::string(text), std::regex("`([a-z-]+)`"), "--$1")))
          << entry->name << ": run scripts/methods-page";
}

// Every line of code that docs/adding-a-method.md shows stands in the tree.
TEST_F(Commands, TheWalkThroughShowsTheRealMethod) {
  const std::string code = content(FODP_SOURCE_DIR "/src/fodp/methods/dp_sat.cpp") +
                           content(FODP_SOURCE_DIR "/src/fodp/methods/table.cpp") +
                           content(FODP_SOURCE_DIR "/src/fodp/methods/annealed_dp_sgd.cpp");
  std::istringstream page(content(FODP_SOURCE_DIR "/docs/adding-a-method.md"));
  bool in_code = false;
  int lines = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      in_code = !in_code;
    } else if (in_code) {
      EXPECT_THAT(code, HasSubstr(line + "\n"));
      ++lines;
    }
  }
  EXPECT_GT(lines, 20);
}

TEST_F(Commands, AnAliasSaysWhatItIs) {
  const Outcome outcome = fodp("train --method sa-dp-sgd --dry-run --json");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("sa-dp-sgd is dp-sam"));
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["method"], "dp-sam");
}

TEST_F(Commands, OptionsOfOtherStagesHaveNoEffectAndThatIsSaid) {
  EXPECT_THAT(fodp("train --method dp-sgd --rho .1 --dry-run").err, HasSubstr("--rho has no effect"));
  EXPECT_THAT(fodp("train --method dp-sgd --beta .5 --dry-run").err, HasSubstr("--beta has no effect"));
  EXPECT_THAT(fodp("train --method sma-dp-sgd --tau .5 --dry-run").err, HasSubstr("--tau has no effect"));
  EXPECT_THAT(fodp("train --method dp-adam --weight-decay .5 --dry-run").err, HasSubstr("--weight-decay has no effect"));
  EXPECT_THAT(fodp("train --method dp-adam --release fractional --beta .5 --dry-run").err, ::testing::Not(HasSubstr("no effect")));
}

TEST_F(Commands, PairingsThatCannotBeRightAreBadInput) {
  for (const char* words : {"--method dp-adambc --release spectral", "--method doppler --update adambc", "--method dp-sam --release banded",
                            "--method dp-adam-ac --clipping flat", "--method bandmf --bands 100", "--method bandmf --bands 0",
                            "--method bandmf --bands many", "--method bandmf --order 0", "--method bandmf --order 1.5",
                            "--method dp-is --clipping adaptive", "--clipping adaptive --count-noise .1 --noise-multiplier 1",
                            "--method bandmf --noise-multiplier 1:2", "--steps 3 --beta .9,.8,.7,.6"}) {
    const Outcome outcome = fodp(std::string("train --dry-run ") + words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_THAT(outcome.err, HasSubstr("--")) << words;
  }
}

TEST_F(Commands, MessagesNameWhatToDo) {
  EXPECT_THAT(fodp("train --method sa-dp-sgdd --dry-run").err, HasSubstr("did you mean 'sa-dp-sgd'"));
  EXPECT_THAT(fodp("methods nosuch").err, ::testing::Not(HasSubstr("--method")));
  EXPECT_THAT(fodp("train --clipping adaptive --clip-norm 1e-11 --dry-run").err, HasSubstr("--clip-norm"));
  EXPECT_THAT(fodp("train --clip-norm 1e30 --dry-run").err, HasSubstr("--clip-norm"));
  EXPECT_THAT(fodp("train --method dp-is --epsilon .01 --steps 200 --sample-rate .02 --dry-run").err, HasSubstr("--norm-noise"));
}

TEST_F(Commands, ADivergedRunSaysSo) {
  if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
  const Outcome outcome = fodp(
      "train --method dp-sgd --lr 1e38 --sample-rate .5 --steps 3 --train-size 200 --test-size 50 --epsilon 8 --hidden 8 --insecure-seed "
      "1");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("diverged"));
}

// Seeds are fixed, since thirty noisy steps of a slow method may end anywhere.
TEST_F(Commands, EveryMethodTrains) {
  if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
  for (const MethodEntry* entry : method_table()) {
    const std::string words =
        "train --train-size 2000 --test-size 500 --hidden 16 --steps 30 --sample-rate .1 --epsilon 8 --insecure-seed 1 --method ";
    const nlohmann::json summary = json(words + std::string(entry->name) + " --out run-" + std::string(entry->name));
    EXPECT_EQ(summary["method"], entry->name);
    EXPECT_LE(summary["epsilon"], 8) << entry->name;
    EXPECT_GT(summary["best_test_accuracy"], .15) << entry->name << ": guessing gives .1";
    EXPECT_EQ(summary["insecure"].size(), 1u) << "the seed, and nothing else, makes it insecure: " << summary["insecure"];
    for (const char* field : {"release", "filter", "update", "clipping", "averaging"}) EXPECT_TRUE(summary[field].is_string());
  }
}

}  // namespace
}  // namespace fodp
