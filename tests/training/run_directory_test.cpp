#include "fodp/training/run_directory.h"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/base/state_file.h"
#include "fodp/training/statement.h"
#include "training/small_data.h"

namespace fodp {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RunRecord : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fodp-record-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    options_.data.data = "mnist";
    options_.model.hidden = {4};
    options_.privacy.steps = 4;
    options_.privacy.sample_rate = .5;
    options_.privacy.epsilon = 2;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  TrainOptions options_;
};

TEST_F(RunRecord, SummaryHasTheFieldsPeopleScriptAgainst) {
  const Dataset data = testing::small_data(60, 40);
  Trainer trainer(make_plan(options_, {60, 40}), data);
  const Plan& plan = trainer.plan();
  const Result result = trainer.run();
  const auto planned = summary_json(plan, nullptr, trainer.objective(), {}), done = summary_json(plan, &result, trainer.objective(), {});
  for (const char* name : {"method",
                           "data",
                           "train_examples",
                           "test_examples",
                           "model",
                           "parameters",
                           "steps",
                           "sample_rate",
                           "expected_lot",
                           "clip_norm",
                           "noise_multiplier",
                           "event",
                           "epsilon",
                           "epsilon_ideal",
                           "group_epsilon",
                           "delta",
                           "accountant",
                           "adjacency",
                           "private",
                           "insecure",
                           "version",
                           "lr",
                           "beta",
                           "init_seed",
                           "unit",
                           "units",
                           "planned_epsilon",
                           "epsilon_if_stop_was_fixed",
                           "stopped_early",
                           "date",
                           "versions",
                           "data_fingerprint",
                           "model_sha256",
                           "planned",
                           "sizes_from",
                           "started_from",
                           "run",
                           "warnings"}) {
    EXPECT_TRUE(planned.contains(name)) << name;
    EXPECT_TRUE(done.contains(name)) << name;
  }
  for (const char* name : {"test_accuracy", "best_test_accuracy", "test_loss", "seconds"}) {
    EXPECT_FALSE(planned.contains(name)) << name;
    EXPECT_TRUE(done.contains(name)) << name;
  }
  EXPECT_LE(done["epsilon"].get<double>(), 2);
  EXPECT_EQ(done["event"][0]["kind"], "poisson_gaussian");
  EXPECT_EQ(done["event"][0]["count"], 4);
  EXPECT_TRUE(done["private"].get<bool>());
}

TEST_F(RunRecord, OfARunThatWasStoppedHasThePlansGuarantee) {
  const Dataset data = testing::small_data(60, 40);
  Trainer trainer(make_plan(options_, {60, 40}), data);
  const Plan& plan = trainer.plan();
  const Result stopped = trainer.run({.stepped = [](const Progress& progress) { return progress.step < 3; }});
  const auto planned = summary_json(plan, nullptr, trainer.objective(), {}), out = summary_json(plan, &stopped, trainer.objective(), {});
  EXPECT_EQ(out["steps"], 3);
  EXPECT_TRUE(out["stopped_early"]);
  for (const char* name : {"epsilon", "epsilon_ideal", "planned_epsilon", "event"}) EXPECT_EQ(out[name], planned[name]) << name;
  EXPECT_LT(out["epsilon_if_stop_was_fixed"], out["epsilon"]);
  EXPECT_EQ(out["event_if_stop_was_fixed"][0]["count"], 3);
  EXPECT_EQ(planned["epsilon_if_stop_was_fixed"], planned["epsilon"]);
  EXPECT_FALSE(planned.contains("event_if_stop_was_fixed"));
  EXPECT_EQ(model_json(plan, stopped, describe_named(*data.format))["events"], planned["event"]);
  EXPECT_THAT(privacy_statement(plan, stopped, {}), HasSubstr("Stopped early"));
}

// Fractions of a second would tell how large each lot was.
TEST_F(RunRecord, SecondsAreWholeUnlessTheRunIsInsecure) {
  const auto told = [&] {
    const Dataset data = testing::small_data(60, 40);
    Trainer trainer(make_plan(options_, {60, 40}), data);
    Result result = trainer.run();
    result.seconds = result.evaluations[0].seconds = 1.75;
    return std::pair(summary_json(trainer.plan(), &result, trainer.objective(), {})["seconds"],
                     evaluation_json(trainer.plan(), result.evaluations[0], trainer.objective())["seconds"]);
  };
  EXPECT_EQ(told(), std::pair(nlohmann::ordered_json(2), nlohmann::ordered_json(2)));
  options_.insecure_seed = 1;
  EXPECT_EQ(told(), std::pair(nlohmann::ordered_json(1.75), nlohmann::ordered_json(1.75)));
}

// Exact times, step by step, would tell how large the lots were.
TEST_F(RunRecord, ACheckpointHasWholeSecondsUnlessTheRunIsInsecure) {
  const Dataset data = testing::small_data(60, 40);
  options_.run.eval_every = 1;
  for (const bool insecure : {false, true}) {
    if (insecure) options_.insecure_seed = 1;
    Trainer trainer(make_plan(options_, {60, 40}), data);
    const std::filesystem::path run = folder_ / (insecure ? "insecure" : "private");
    RunDirectory directory(run, trainer);
    trainer.run();
    bool whole = true;
    for (const auto& [name, value] : read_state(run / "checkpoint")) {
      if (name == "more.seconds") whole = whole && std::get<double>(value) == std::round(std::get<double>(value));
      if (const auto* row = std::get_if<std::vector<double>>(&value); row && name.starts_with("more.evaluations."))
        whole = whole && row->back() == std::round(row->back());
    }
    EXPECT_EQ(whole, !insecure);
  }
}

TEST_F(RunRecord, DirectoryHoldsWholeFiles) {
  const Dataset data = testing::small_data(60, 40);
  Trainer trainer(make_plan(options_, {60, 40}), data);
  RunDirectory directory(folder_ / "a/b", trainer);
  const Result result = trainer.run({.evaluated = [&](const Evaluation& evaluation) { directory.add(evaluation); }});
  RunIdentity identity = identity_now("fingerprint of the rows");
  directory.finish(result, trainer.state(), describe_named(*data.format), identity);
  const auto parse = [&](const char* name) {
    std::ifstream stream(folder_ / "a/b" / name);
    return nlohmann::json::parse(stream);
  };
  EXPECT_EQ(parse("config.json")["method"], "fo-dp-sgd");
  EXPECT_EQ(parse("summary.json")["steps"], 4);
  EXPECT_EQ(parse("summary.json")["model_sha256"], sha256_file(folder_ / "a/b/model.pt"));
  EXPECT_EQ(parse("model.json")["inputs"]["mean"][0], .1307);
  std::ifstream statement(folder_ / "a/b/statement.txt");
  const std::string said((std::istreambuf_iterator<char>(statement)), {});
  for (const std::string& part : {identity.model_sha256, identity.date, std::string("libtorch")}) EXPECT_THAT(said, HasSubstr(part));
  EXPECT_THAT(said, Not(HasSubstr("fingerprint"))) << "the data's fingerprint tells who is in it, and the statement is for others";
  std::ifstream metrics(folder_ / "a/b/metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines)
    for (const char* name : {"step", "epoch", "epsilon", "test_accuracy", "test_loss", "seconds"})
      EXPECT_TRUE(nlohmann::json::parse(line).contains(name));
  EXPECT_EQ(lines, 2);  // an evaluation every epoch of two steps
  EXPECT_EQ(load_state_dict(folder_ / "a/b/model.pt").size(), 4u);
  EXPECT_THROW(RunDirectory(folder_ / "a/b", trainer), InputError);  // nothing is overwritten
}

TEST_F(RunRecord, IsForItsUserAloneUnlessTheDirectoryIsThere) {
  const Dataset data = testing::small_data(60, 40);
  Trainer trainer(make_plan(options_, {60, 40}), data);
  const auto mode = [&](const char* name) { return std::filesystem::status(folder_ / name).permissions(); };
  RunDirectory made(folder_ / "parent/new/", trainer);
  EXPECT_EQ(mode("parent/new"), std::filesystem::perms::owner_all);
  EXPECT_NE(mode("parent"), std::filesystem::perms::owner_all);
  std::filesystem::create_directory(folder_ / "shared");
  std::filesystem::permissions(folder_ / "shared", std::filesystem::perms(0750));
  Trainer another(make_plan(options_, {60, 40}), data);
  RunDirectory there(folder_ / "shared", another);
  EXPECT_EQ(mode("shared"), std::filesystem::perms(0750));
}

TEST_F(RunRecord, FollowsNoLink) {
  const Dataset data = testing::small_data(60, 40);
  Trainer trainer(make_plan(options_, {60, 40}), data);
  for (const char* name : {"metrics.jsonl", "config.json"}) {
    std::filesystem::create_directory(folder_ / "trap");
    std::filesystem::create_symlink(folder_ / "victim", folder_ / "trap" / name);
    EXPECT_THROW(RunDirectory(folder_ / "trap", trainer), InputError) << name;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "victim")) << name;
    std::filesystem::remove_all(folder_ / "trap");
  }
  // One that comes while the run goes on is replaced, not followed.
  RunDirectory directory(folder_ / "run", trainer);
  std::ofstream(folder_ / "victim") << "mine";
  std::filesystem::create_symlink(folder_ / "victim", folder_ / "run/summary.json");
  const Result result = trainer.run();
  RunIdentity identity = identity_now("");
  directory.finish(result, trainer.state(), describe_named(*data.format), identity);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "victim"), 4u);
  EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "run/summary.json"));
}

TEST_F(RunRecord, TheRealisedLotIsNowhere) {
  const Dataset data = testing::small_data(60, 40);
  Trainer trainer(make_plan(options_, {60, 40}), data);
  const Plan& plan = trainer.plan();
  const Result result = trainer.run();
  const std::string text = summary_json(plan, &result, trainer.objective(), {}).dump() +
                           evaluation_json(plan, result.evaluations[0], trainer.objective()).dump() + config_json(plan).dump();
  for (const char* word : {"realised", "realized", "lot_size", "batch_size", "rows"}) EXPECT_THAT(text, Not(HasSubstr(word)));
  EXPECT_THAT(text, Not(HasSubstr("insecure_diagnostics\":{")));
}

TEST_F(RunRecord, StatementSaysWhatHolds) {
  const std::string text = privacy_statement(make_plan(options_, {60, 40}));
  for (const char* part : {"0.001, the largest power of ten", "one row", "add or remove", "test set is public", "finite precision"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("NOT PRIVATE")));
  options_.insecure_seed = 1;
  EXPECT_THAT(privacy_statement(make_plan(options_, {60, 40})), HasSubstr("NOT PRIVATE"));
}

// The default plan at delta 1e-5: what a person with several rows has is more than so many times epsilon 3.
TEST_F(RunRecord, StatementSaysWhatAPersonWithSeveralRowsHas) {
  TrainOptions usual;
  usual.privacy.delta = 1e-5;
  const Plan plan = make_plan(usual, {60000, 10000});
  const auto groups = group_epsilons(plan, plan.events());
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].first, 2);
  EXPECT_EQ(groups[1].first, 5);
  EXPECT_NEAR(groups[0].second, 6.57, .03);
  EXPECT_NEAR(groups[1].second, 19.6, .1);
  const std::string text = privacy_statement(plan);
  EXPECT_THAT(text, HasSubstr("a person with 2 rows has"));
  EXPECT_THAT(text, HasSubstr("at most " + upper_text(groups[0].second)));
  EXPECT_THAT(text, Not(HasSubstr("times the exposure")));
  Events more = plan.events();
  more[0].count *= 2;
  EXPECT_GT(group_epsilons(plan, more)[0].second, groups[0].second);
}

TEST_F(RunRecord, WithoutNoiseSeveralRowsHaveNoBound) {
  options_.privacy.epsilon = {};
  options_.privacy.noise_multiplier = 0;
  const Plan plan = make_plan(options_, {60, 40});
  EXPECT_THAT(privacy_statement(plan), HasSubstr("without a bound"));
  const auto json = summary_json(plan, nullptr, objective_for({.classes = 10}), {});
  EXPECT_EQ(json["group_epsilon"]["2"], "inf");
  EXPECT_EQ(json["group_epsilon"]["5"], "inf");
}

// Rows of one person may be in different groups of a cycle: the bound that holds for any mechanism is larger.
TEST_F(RunRecord, CorrelatedNoiseTakesTheBoundOfAnyMechanism) {
  const Plan plain = make_plan(TrainOptions(), {60000, 10000});
  TrainOptions options;
  options.method = "bandmf";
  const Plan banded = make_plan(options, {60000, 10000});
  EXPECT_GT(banded.cycle(), 1);
  EXPECT_GT(group_epsilons(banded, banded.events())[0].second, 1.1 * group_epsilons(plain, plain.events())[0].second);
}

TEST_F(RunRecord, BadPlacesAreFoundBeforeTheRun) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THROW(check_can_make_run(folder_ / "file"), InputError);
  EXPECT_THROW(check_can_make_run(folder_ / "file/below"), InputError);
  EXPECT_NO_THROW(check_can_make_run(folder_ / "new/one"));
  EXPECT_THROW(check_can_write(folder_ / "none/w.pt"), InputError);
  EXPECT_THROW(check_can_write(folder_ / "w.bin"), InputError);
  EXPECT_NO_THROW(check_can_write(folder_ / "w.safetensors"));
}

}  // namespace
}  // namespace fodp
