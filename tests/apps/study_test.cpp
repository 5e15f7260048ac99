// fodp study, reproduce and report as people use them, on small trainings.
#include <chrono>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"
#include "python.h"
#include "terminal.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kStudy[] = R"(
title = "Small"
seeds = [1, 2]
[base]
train-size = 1000
test-size = 300
hidden = "8"
sample-rate = 0.1
epochs = 3
epsilon = 3
[axes]
method = ["dp-sgd", { label = "FO", method = "fo-dp-sgd", beta = 0.8 }]
[[tables]]
name = "final"
rows = ["method"]
baseline = "dp-sgd"
[[figures]]
name = "curves"
x = ["epoch", "epsilon"]
series = "method"
)";

class StudyCommand : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
    write("own.toml", kStudy);
  }

  std::vector<std::string> lines(const std::string& file) {
    std::vector<std::string> out;
    std::istringstream stream(content(folder_ / file));
    for (std::string line; std::getline(stream, line);) out.push_back(line);
    return out;
  }

  // Opens the page in Chromium (report_page.py).
  void look_at(const std::string& page) {
    const std::string python = testing::python_with("selenium");
    if (python.empty() || std::system("command -v chromium chromedriver >/dev/null") != 0) GTEST_SKIP() << "no browser here";
    const std::string command = python + " '" FODP_SOURCE_DIR "/tests/apps/report_page.py' '" + (folder_ / page).string() + "' >'" +
                                (folder_ / "look.txt").string() + "' 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << content(folder_ / "look.txt");
  }
};

// The walk-through of docs/studies.md, as it is written there.
TEST_F(StudyCommand, TheDocumentedStudyWorksAsWritten) {
  const std::string page = content(FODP_SOURCE_DIR "/docs/studies.md");
  const auto block = [&](const std::string& kind) {
    const std::size_t begin = page.find("```" + kind + "\n") + kind.size() + 4;
    return page.substr(begin, page.find("```", begin) - begin);
  };
  write("own.toml", block("toml"));
  std::istringstream commands(block("sh"));
  std::string out;
  for (std::string line; std::getline(commands, line);) {
    ASSERT_TRUE(line.starts_with("fodp ")) << line;
    const Outcome outcome = fodp(line.substr(5));
    ASSERT_EQ(outcome.status, 0) << line << outcome.err;
    out += outcome.out;
  }
  EXPECT_THAT(out, AllOf(HasSubstr("12 runs, 0 of them recorded"), HasSubstr("| 1 | FO-DP-SGD, beta .8 | 3 |"),
                         HasSubstr("The memory helps at clip norm 1")));
  for (const char* file : {"runs/own/records.jsonl", "runs/own/tables/final.csv", "runs/own/tables/final.md", "runs/own/figures/curves.svg",
                           "runs/own/report.html", "own.html"})
    EXPECT_TRUE(std::filesystem::file_size(folder_ / file) > 100) << file;
  EXPECT_EQ(lines("runs/own/records.jsonl").size(), 12u);
  look_at("own.html");
}

TEST_F(StudyCommand, ARecordHasWhatTheInterfaceNames) {
  const auto result = json("study own.toml --out d --quiet");
  EXPECT_EQ(result["done"], 4);
  EXPECT_EQ(result["failed"], 0);
  const auto record = nlohmann::json::parse(lines("d/records.jsonl")[0]);
  for (const char* name : {"method", "test_accuracy", "best_test_accuracy", "epsilon", "seconds", "event", "versions", "data_fingerprint",
                           "machine", "config", "curve", "study", "run", "status", "key"})
    EXPECT_TRUE(record.contains(name)) << name;
  EXPECT_EQ(record["study"], "own");
  EXPECT_EQ(record["status"], "done");
  EXPECT_EQ(record["private"], false);
  EXPECT_FALSE(record["insecure"].empty());
  EXPECT_EQ(record["run"]["seed"], record["config"]["init_seed"]);
  ASSERT_EQ(record["curve"].size(), 3u);
  for (const char* name : {"step", "epoch", "epsilon", "test_accuracy", "test_loss"})
    EXPECT_TRUE(record["curve"][2][name].is_number()) << name;
  EXPECT_EQ(record["curve"][2]["test_accuracy"], record["test_accuracy"]);
}

// The digits of a study are those of `fodp train` with the same options.
TEST_F(StudyCommand, RunsAreThoseOfTrain) {
  fodp("study own.toml --out d --quiet");
  const auto run = json(
      "train --method fo-dp-sgd --beta .8 --train-size 1000 --test-size 300 --hidden 8 --sample-rate .1 --epochs 3 --epsilon 3 --init-seed "
      "2 --insecure-seed 2 --threads 2 --quiet");
  bool found = false;
  for (const std::string& line : lines("d/records.jsonl")) {
    const auto record = nlohmann::json::parse(line);
    if (record["run"] != nlohmann::json{{"method", "FO"}, {"seed", 2}}) continue;
    found = true;
    EXPECT_EQ(record["test_loss"], run["test_loss"]);
  }
  EXPECT_TRUE(found);
}

// Killed at several moments, a study ends with the table of one that was not.
TEST_F(StudyCommand, AKilledStudyGoesOnAndEndsTheSame) {
  ASSERT_EQ(fodp("study own.toml --out whole --quiet").status, 0);
  for (const char* seconds : {"1.2", "1.9", "2.6"}) {
    const std::string command = "cd '" + folder_.string() + "' && timeout -s KILL " + seconds +
                                " '" FODP_BINARY_DIR "/fodp' study own.toml --out killed --jobs 1 --quiet >/dev/null 2>&1";
    (void)std::system(command.c_str());
  }
  ASSERT_EQ(fodp("study own.toml --out killed --quiet").status, 0);
  EXPECT_EQ(content(folder_ / "killed/tables/final.csv"), content(folder_ / "whole/tables/final.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "killed/running"));
  // Without one record, exactly that run is done again.
  const std::vector<std::string> all = lines("killed/records.jsonl");
  ASSERT_EQ(all.size(), 4u);
  write("killed/records.jsonl", all[0] + "\n" + all[1] + "\n" + all[3] + "\n");
  const auto again = json("study own.toml --out killed --quiet");
  EXPECT_EQ(again["done"], 1);
  EXPECT_EQ(nlohmann::json::parse(lines("killed/records.jsonl")[3])["run"], nlohmann::json::parse(all[2])["run"]);
  EXPECT_EQ(content(folder_ / "killed/tables/final.csv"), content(folder_ / "whole/tables/final.csv"));
  // A damaged line is refused by its number.
  write("killed/records.jsonl", all[0] + "\n" + all[1].substr(0, 100) + "\n" + all[3] + "\n");
  const Outcome damaged = fodp("study own.toml --out killed");
  EXPECT_EQ(damaged.status, 2);
  EXPECT_THAT(damaged.err, HasSubstr("records.jsonl: line 2"));
}

// Once a run has begun, which is when its folder is there.
TEST_F(StudyCommand, CtrlCEndsItCleanly) {
  Terminal terminal(folder_, "study own.toml --out d --jobs 1", 200);
  for (int i = 0; i < 2400 && !std::filesystem::exists(folder_ / "d/running"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  terminal.send(SIGINT);
  EXPECT_EQ(terminal.finish(), 130);
  EXPECT_THAT(terminal.shown(), AllOf(HasSubstr("stopping"), HasSubstr("the same command goes on")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "d/running"));
  EXPECT_EQ(json("study own.toml --out d --quiet")["recorded"], 4);
}

TEST_F(StudyCommand, ARunThatFailsDoesNotEndTheStudy) {
  const std::string out = "d" + std::to_string(::getpid());  // what is killed must not be a run of another program's
  const std::string command =
      "cd '" + folder_.string() + "' && { '" FODP_BINARY_DIR "/fodp' study own.toml --out " + out +
      " --jobs 1 --quiet >out.txt 2>err.txt; echo $? >status.txt; } & for i in $(seq 400); do pkill -9 -f -- '--out=" + out +
      "/runnin[g]' && break; sleep .05; done; wait";
  (void)std::system(command.c_str());
  EXPECT_EQ(content(folder_ / "status.txt"), "1\n");
  EXPECT_THAT(content(folder_ / "err.txt"), AllOf(HasSubstr("a run failed"), HasSubstr("1 runs failed")));
  int failed = 0;
  for (const std::string& line : lines(out + "/records.jsonl")) failed += nlohmann::json::parse(line)["status"] == "failed";
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(lines(out + "/records.jsonl").size(), 4u);
  const auto again = json("study own.toml --quiet --out " + out);
  EXPECT_EQ(again["done"], 1) << "it is tried again";
  EXPECT_EQ(again["recorded"], 4);
}

TEST_F(StudyCommand, OtherOptionsAreNotMixedIn) {
  fodp("study own.toml --out d --quiet");
  std::string other = kStudy;
  other.replace(other.find("epsilon = 3"), 11, "epsilon = 2");
  write("own.toml", other);
  EXPECT_EQ(json("study own.toml --out d --quiet")["done"], 4);
  EXPECT_EQ(lines("d/records.jsonl").size(), 8u);
  fodp("report d --out r.html");
  EXPECT_THAT(content(folder_ / "r.html"), HasSubstr("4 records of other options"));
}

TEST_F(StudyCommand, TuningHoldsTrainingRowsOutAndIsReused) {
  const std::string tune =
      "[tune]\noption = \"lr\"\nby = [\"method\"]\ngrid = [0.5, 2]\nseeds = [7]\nvalidation = 200\nrecorded = \"rates.json\"\n";
  write("own.toml", kStudy + tune);
  const auto result = json("study own.toml --out d --quiet");
  EXPECT_EQ(result["done"], 8);
  int tuned = 0;
  for (const std::string& line : lines("d/records.jsonl")) {
    const auto record = nlohmann::json::parse(line);
    if (!record.contains("tuning")) continue;
    ++tuned;
    EXPECT_EQ(record["train_examples"], 800);
    EXPECT_EQ(record["test_examples"], 200);
  }
  EXPECT_EQ(tuned, 4);
  const auto study = nlohmann::json::parse(content(folder_ / "d/studies/own.json"));
  ASSERT_EQ(study["tuned"].size(), 2u);
  EXPECT_EQ(study["tuned"][0]["scores"].size(), 2u);
  // Recorded choices are taken where they rest on the same runs, and only there.
  write("rates.json", nlohmann::json{{"tuned", study["tuned"]}}.dump());
  EXPECT_EQ(json("study own.toml --out e --quiet")["done"], 4);
  EXPECT_EQ(content(folder_ / "e/tables/final.csv"), content(folder_ / "d/tables/final.csv"));
  std::string other = kStudy + tune;
  other.replace(other.find("validation = 200"), 16, "validation = 300");
  write("own.toml", other);
  EXPECT_THAT(fodp("study own.toml --out f --dry-run").out, HasSubstr("8 runs"));
}

TEST_F(StudyCommand, BadStudiesAreRefusedBeforeTheFirstRun) {
  const auto refused = [&](const std::string& text, const std::string& says) {
    write("bad.toml", text);
    const Outcome outcome = fodp("study bad.toml --out never");
    EXPECT_EQ(outcome.status, 2) << text << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("bad.toml"), HasSubstr(says))) << text;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "never/records.jsonl")) << text;
  };
  refused("[base]\nlerning-rate = 1\n", "base.lerning-rate: not an option of fodp train");
  refused("[axes]\nbata = [0.5]\n", "axes.bata: not an option of fodp train");
  refused("[base]\nbeta = 0.5\n[axes]\nmethod = [\"dp-sgd\", \"dp-adam\"]\n", "base.beta: no run of this study reads --beta");
  refused("[axes]\nmethod = [\"dp-sgt\"]\n", "dp-sgt");
  refused("[base]\nepsilon = -1\n", "epsilon");
  refused("[base]\ntrain-size = 70000\n", "train-size");
  refused("[base]\ndata = \"cifar-10\"\n", "cifar-10");
  refused("title = \"empty\"\n", "nothing to train or to draw");
  refused("[base]\nclip-norm = 7\n[axes]\nclip-norm = [1, 2]\n", "base.clip-norm: every run has another value");
  refused("[axes]\nclip-norm = [0.5, \"0.50\"]\n", "are the same training");
  refused("[base]\ndata = \"table\"\n", "not on data of one's own");
  refused("[axes]\nmethod = [\"dp-sgd\"]\n[tune]\noption = \"adam-beta1\"\ngrid = [0.5, 0.6]\nvalidation = 100\n",
          "tune.option: no run of this study reads --adam-beta1");
  EXPECT_EQ(fodp("study nowhere.toml --out x").status, 2);
  EXPECT_EQ(fodp("study").status, 2);
  write("file", "");
  EXPECT_THAT(fodp("study own.toml --out file").err, HasSubstr("--out file"));
  EXPECT_EQ(fodp("study own.toml --out /proc/nowhere").status, 2);
}

TEST_F(StudyCommand, WhatADirectoryHoldsIsNotReplaced) {
  ASSERT_EQ(fodp("study own.toml --out d --quiet").status, 0);
  const std::string before = content(folder_ / "d/records.jsonl"), table = content(folder_ / "d/tables/final.csv");
  const auto refused = [&](const std::string& command, const std::string& says) {
    const Outcome outcome = fodp(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr(says)) << command;
  };
  refused("report d --out d/records.jsonl", "ends in .html");
  refused("study own.toml --out d --quick", "without --quick");
  write("other.toml", kStudy);
  refused("study other.toml --out d", "both write");
  std::filesystem::create_directory(folder_ / "run");
  write("run/summary.json", "{}");
  refused("study own.toml --out run", "holds a run of fodp train");
  // Somebody who only looks changes nothing, also where the last line is torn.
  write("d/records.jsonl", before.substr(0, before.size() - 50));
  EXPECT_THAT(fodp("report d --out r.html").err, HasSubstr("is torn"));
  EXPECT_EQ(content(folder_ / "d/records.jsonl").size(), before.size() - 50);
  EXPECT_EQ(json("study own.toml --out d --quiet")["done"], 1);
  EXPECT_EQ(content(folder_ / "d/tables/final.csv"), table);
}

// Results are of a test set: with another one under the same name, nothing that is recorded counts.
TEST_F(StudyCommand, OtherTestDataAreNotMixedIn) {
  std::filesystem::create_directory(folder_ / "mnist");
  const auto add = [&](const std::string& name, const std::string& bytes) { write("mnist/" + name, bytes); };
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255);
    return bytes;
  };
  for (const auto& [name, count] : {std::pair{"train", 200u}, {"t10k", 100u}}) {
    std::string pixels(std::size_t{count} * 784, '\0'), labels(count, '\0');
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i * 7919 % 251);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<char>(i % 10);
    add(std::string(name) + "-images-idx3-ubyte", number(0x803) + number(count) + number(28) + number(28) + pixels);
    add(std::string(name) + "-labels-idx1-ubyte", number(0x801) + number(count) + labels);
  }
  write("own.toml", "[base]\ndata = \"mnist\"\nhidden = \"4\"\nsample-rate = 0.2\nsteps = 3\n[axes]\nmethod = [\"dp-sgd\"]\n");
  ASSERT_EQ(json("study own.toml --out d --quiet --data-dir .")["done"], 1);
  EXPECT_EQ(json("study own.toml --out d --quiet --data-dir .")["done"], 0);
  std::string labels = content(folder_ / "mnist/t10k-labels-idx1-ubyte");
  labels.back() = static_cast<char>(3);
  write("mnist/t10k-labels-idx1-ubyte", labels);
  EXPECT_EQ(json("study own.toml --out d --quiet --data-dir .")["done"], 1);
}

TEST_F(StudyCommand, SecureRunsArePrivate) {
  write("own.toml", std::string(kStudy).replace(std::string(kStudy).find("seeds = [1, 2]"), 14, "seeds = [1]"));
  fodp("study own.toml --out d --secure --quiet");
  EXPECT_EQ(nlohmann::json::parse(lines("d/records.jsonl")[0])["private"], true);
  EXPECT_THAT(content(folder_ / "d/report.html"), Not(HasSubstr("\"NOT PRIVATE")));
  write("own.toml", content(folder_ / "own.toml") + "[tune]\noption = \"lr\"\ngrid = [1, 2]\nvalidation = 100\n");
  fodp("study own.toml --out tuned --secure --quiet");
  EXPECT_THAT(content(folder_ / "tuned/report.html"), HasSubstr("NOT PRIVATE: --lr was chosen by results on training rows"));
}

TEST_F(StudyCommand, ARunsPageIsItsPrivacyReport) {
  ASSERT_EQ(fodp("train --train-size 1000 --hidden 8 --sample-rate .1 --epochs 3 --epsilon 3 --out run --quiet").status, 0);
  const auto result = json("report run --out run.html");
  EXPECT_EQ(result["pages"][0], "run.html");
  EXPECT_THAT(content(folder_ / "run.html"),
              AllOf(HasSubstr("Privacy statement"), HasSubstr("differential privacy"), Not(HasSubstr("src=\"http"))));
  EXPECT_EQ(fodp("report nowhere").status, 2);
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_THAT(fodp("report empty").err, HasSubstr("neither the directory of a study nor of a finished run"));
  look_at("run.html");
}

TEST_F(Commands, EveryShippedStudyCanBePlanned) {
  const auto list = json("reproduce list");
  EXPECT_GE(list["studies"].size(), 10u);
  for (const auto& study : list["studies"]) {
    EXPECT_FALSE(study["shows"].get<std::string>().empty()) << study;
    EXPECT_TRUE(study["minutes"].is_number()) << study;
  }
  const Outcome plan = fodp("reproduce all --dry-run --json");
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(fodp("reproduce tabel3 --dry-run").err, HasSubstr("table3"));
}

}  // namespace
}  // namespace fodp
