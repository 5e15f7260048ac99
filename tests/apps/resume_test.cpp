// Trainings that are killed, resumed and verified. scripts/crash-test does the same at 200 random moments.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::HasSubstr;

const std::string kTrain =
    "train --train-size 600 --test-size 100 --hidden 6 --sample-rate .05 --steps 400 --eval-every 1 --checkpoint-every 20 --threads 1 "
    "--init-seed 3 --quiet ";

class ResumedRuns : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
  }

  // Starts a training and kills it, with SIGKILL, when its metrics have so many lines.
  void kill_at(const std::string& words, int lines) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::setsid();
      const std::string command =
          "cd '" + folder_.string() + "' && exec '" FODP_BINARY_DIR "/fodp' " + words + " >/dev/null 2>&1 </dev/null";
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    for (int waited = 0; waited < 60000 && metrics_lines() < lines; ++waited) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(-child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_GE(metrics_lines(), lines);
  }
  long metrics_lines() const {
    const std::string text = content(folder_ / "run/metrics.jsonl");
    return std::count(text.begin(), text.end(), '\n');
  }
  nlohmann::json summary(const char* run) const { return nlohmann::json::parse(content(folder_ / run / "summary.json")); }
};

TEST_F(ResumedRuns, WithAFixedSeedAreTheRunsThatWereNeverKilled) {
  const std::string words = kTrain + "--epsilon 3 --insecure-seed 5 --out ";
  ASSERT_EQ(fodp(words + "whole").status, 0);
  kill_at(words + "run", 30);
  kill_at("train --resume run --quiet", 90);
  const auto killed = json("verify run");
  EXPECT_EQ(killed["valid"], true);
  EXPECT_TRUE(killed["claimed_epsilon"].is_null());
  EXPECT_TRUE(killed["model_matches"].is_null());
  const Outcome resumed = fodp("train --resume run");
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("going on after step"));
  EXPECT_EQ(content(folder_ / "run/model.pt"), content(folder_ / "whole/model.pt"));
  for (const char* name : {"epsilon", "event", "steps", "test_accuracy", "best_test_accuracy", "run"})
    EXPECT_EQ(summary("run")[name], summary("whole")[name]) << name;
  const auto verified = json("verify run");
  EXPECT_EQ(verified["valid"], true);
  EXPECT_EQ(verified["claimed_epsilon"], summary("run")["epsilon"]);
  EXPECT_EQ(verified["model_matches"], true);
  EXPECT_EQ(fodp("train --resume run").status, 3) << "a run that has come to its end has spent its budget";
}

TEST_F(ResumedRuns, WithSecretNoiseStayWithinTheirBudget) {
  kill_at(kTrain + "--epsilon 3 --out run", 50);
  ASSERT_EQ(fodp("train --resume run --quiet").status, 0);
  const auto result = summary("run");
  EXPECT_LE(result["epsilon"], 3);
  EXPECT_LT(result["steps"], 400) << "steps that were lost are paid for";
  EXPECT_EQ(result["budget_spent"], true);
  EXPECT_EQ(json("verify run")["valid"], true);
  EXPECT_EQ(fodp("train --resume run").status, 3);
}

TEST_F(ResumedRuns, WithoutABudgetSaySoMuchTheMore) {
  kill_at(kTrain + "--noise-multiplier 1 --out run", 50);
  ASSERT_EQ(fodp("train --resume run --quiet").status, 0);
  const auto result = summary("run");
  EXPECT_EQ(result["steps"], 400);
  EXPECT_GT(result["epsilon"], result["planned_epsilon"]);
  EXPECT_EQ(json("verify run")["epsilon"], result["epsilon"]);
  EXPECT_NEAR(json("account --events run")["epsilon"].get<double>(), result["epsilon"].get<double>(), 1e-9);
}

TEST_F(ResumedRuns, TakeNoOtherOptions) {
  const Outcome outcome = fodp("train --resume run --lr 3");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--lr"));
  EXPECT_EQ(fodp("train --resume nowhere").status, 2);
}

TEST_F(ResumedRuns, VerifyFindsWhatWasChanged) {
  ASSERT_EQ(fodp("train --train-size 300 --test-size 50 --hidden 4 --steps 5 --quiet --out run").status, 0);
  ASSERT_EQ(json("verify run")["valid"], true);
  const std::string whole = content(folder_ / "run/summary.json"), model = content(folder_ / "run/model.pt"),
                    ledger = content(folder_ / "run/ledger"), statement = content(folder_ / "run/statement.txt");
  const auto problem_with = [&](const char* name, const std::string& text) {
    const std::string before = content(folder_ / "run" / name);
    write(std::string("run/") + name, text);
    const Outcome outcome = fodp("verify run --json");
    EXPECT_EQ(outcome.status, 3) << name;
    write(std::string("run/") + name, before);
    return nlohmann::json::parse(outcome.out)["problems"].dump();
  };
  auto cheaper = nlohmann::json::parse(whole);
  cheaper["epsilon"] = cheaper["epsilon"].get<double>() * .9;
  EXPECT_THAT(problem_with("summary.json", cheaper.dump()), HasSubstr("add up to"));
  EXPECT_THAT(problem_with("summary.json", "{}"), HasSubstr("summary.json"));
  EXPECT_THAT(problem_with("model.pt", model + " "), HasSubstr("model.pt"));
  EXPECT_THAT(problem_with("ledger", ledger.substr(1)), HasSubstr("line 1"));
  EXPECT_THAT(problem_with("statement.txt", "Guarantee (0.1, 1e-9)-differential privacy"), HasSubstr("statement.txt"));
  EXPECT_THAT(problem_with("checkpoint", "x"), HasSubstr("checkpoint"));
  EXPECT_THAT(problem_with("statement.txt", "Guarantee (0.1, 1e-9)-differential privacy\n" + statement), HasSubstr("more than one"));
  EXPECT_THAT(problem_with("ledger", ledger.substr(0, ledger.find('\n') + 1)), HasSubstr("it was cut"));
  auto fewer = nlohmann::json::parse(whole);
  fewer["event"][0]["count"] = 1;
  EXPECT_THAT(problem_with("summary.json", fewer.dump()), HasSubstr("its own events"));
  auto lonely = nlohmann::json::parse(whole);
  lonely["group_epsilon"]["5"] = lonely["group_epsilon"]["5"].get<double>() * .99;
  EXPECT_THAT(problem_with("summary.json", lonely.dump()), HasSubstr("with 5 rows"));
  auto ambitious = nlohmann::json::parse(whole);
  ambitious["planned_epsilon"] = ambitious["epsilon"].get<double>() * 1.01;
  EXPECT_THAT(problem_with("summary.json", ambitious.dump()), HasSubstr("planned epsilon"));
  // Every claim of the summary, one at a time.
  for (const auto& [name, value, says] : std::vector<std::tuple<const char*, nlohmann::json, const char*>>{
           {"planned_epsilon", .01, "planned epsilon"},
           {"epsilon_if_stop_was_fixed", .01, "stop that was fixed"},
           {"group_epsilon", nlohmann::json::object(), "summary.json"},
           {"units", 301, "units"},
           {"train_examples", 301, "train_examples"},
           {"unit", "person", "unit"},
           {"adjacency", "replace", "adjacency"},
           {"version", "99", "version"},
           {"insecure", nlohmann::json::array({"x"}), "insecure"},
           {"files", nlohmann::json::object(), "summary.json"},
       }) {
    auto other = nlohmann::json::parse(whole);
    other[name] = value;
    EXPECT_THAT(problem_with("summary.json", other.dump()), HasSubstr(says)) << name;
  }
  // And every other file.
  for (const char* name : {"statement.txt", "config.json", "metrics.jsonl", "model.json"})
    EXPECT_THAT(problem_with(name, content(folder_ / "run" / name) + "\n"), HasSubstr(name));
  auto cheap_model = nlohmann::json::parse(content(folder_ / "run/model.json"));
  cheap_model["events"][0]["count"] = 1;
  EXPECT_THAT(problem_with("model.json", cheap_model.dump()), HasSubstr("'events'"));
  EXPECT_THAT(problem_with("model.json", "{"), HasSubstr("model.json"));
  std::filesystem::remove(folder_ / "run/summary.json");  // as a kill at the very end leaves it
  EXPECT_EQ(json("verify run")["valid"], true);
  EXPECT_THAT(problem_with("statement.txt", "Guarantee (0.1, 1e-9)-differential privacy"), HasSubstr("the ledger's"));
  write("run/summary.json", whole);
  EXPECT_EQ(json("verify run")["valid"], true);
  EXPECT_EQ(fodp("verify .").status, 2);
}

// Bands and order are chosen once more when a run goes on and when it is verified, and the record has what was chosen.
TEST_F(ResumedRuns, OfChosenBandsGoOnWithTheSameOnes) {
  const std::string words =
      "train --method bandmf --train-size 600 --test-size 100 --hidden 6 --sample-rate .02 --steps 400 --epsilon 20 --eval-every 1 "
      "--checkpoint-every 20 --threads 1 --quiet --insecure-seed 5 --out ";
  ASSERT_EQ(fodp(words + "whole").status, 0);
  kill_at(words + "run", 30);
  const auto config = nlohmann::json::parse(content(folder_ / "run/config.json"));
  EXPECT_GT(config["bands"], 1);
  EXPECT_GT(config["order"], 0);
  EXPECT_EQ(std::ranges::count(config["filled"], "bands"), 1);
  const Outcome resumed = fodp("train --resume run --quiet");
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(nlohmann::json::parse(content(folder_ / "run/config.json"))["bands"], config["bands"]);
  EXPECT_EQ(summary("run")["model_sha256"], summary("whole")["model_sha256"]);
  EXPECT_EQ(json("verify run")["valid"], true);
}

// So are rate, steps and learning rate of a run that gives none of them.
TEST_F(ResumedRuns, OfAPlannedSizeGoOnWithTheSameOne) {
  const std::string words =
      "train --train-size 3000 --test-size 50 --hidden 8 --eval-every 1 --checkpoint-every 20 --threads 1 --quiet --insecure-seed 5 "
      "--epsilon 1 --out ";
  kill_at(words + "run", 30);
  const auto config = nlohmann::json::parse(content(folder_ / "run/config.json"));
  for (const char* name : {"sample_rate", "lot", "steps", "epochs"}) EXPECT_EQ(std::ranges::count(config["derived"], name), 1) << name;
  const Outcome resumed = fodp("train --resume run --quiet");
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const auto whole = summary("run");
  EXPECT_EQ(whole["sample_rate"], config["sample_rate"]);
  EXPECT_EQ(whole["steps"], config["steps"]);
  EXPECT_EQ(whole["lr"], config["lr"]);
  EXPECT_EQ(json("verify run")["valid"], true);
}

}  // namespace
}  // namespace fodp
