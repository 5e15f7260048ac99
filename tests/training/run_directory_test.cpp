#include "fodp/training/run_directory.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
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
                           "stopped_early",
                           "date",
                           "versions",
                           "data_fingerprint",
                           "model_sha256",
                           "planned",
                           "sizes_from",
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

TEST_F(RunRecord, DirectoryHoldsWholeFiles) {
  const Dataset data = testing::small_data(60, 40);
  Trainer trainer(make_plan(options_, {60, 40}), data);
  RunDirectory directory(folder_ / "a/b", trainer);
  const Result result = trainer.run({.evaluated = [&](const Evaluation& evaluation) { directory.add(evaluation); }});
  RunIdentity identity = identity_now("0f");
  directory.finish(result, trainer.state(), *data.format, identity);
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
  for (const std::string& part : {std::string("SHA-256 0f"), identity.model_sha256, identity.date, std::string("libtorch")})
    EXPECT_THAT(said, HasSubstr(part));
  std::ifstream metrics(folder_ / "a/b/metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines)
    for (const char* name : {"step", "epoch", "epsilon", "test_accuracy", "test_loss", "seconds"})
      EXPECT_TRUE(nlohmann::json::parse(line).contains(name));
  EXPECT_EQ(lines, 2);  // an evaluation every epoch of two steps
  EXPECT_EQ(load_state_dict(folder_ / "a/b/model.pt").size(), 4u);
  EXPECT_THROW(RunDirectory(folder_ / "a/b", trainer), InputError);  // nothing is overwritten
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
  for (const char* part : {"1e-05", "one row", "add or remove", "test set is public", "finite precision"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("NOT PRIVATE")));
  options_.insecure_seed = 1;
  EXPECT_THAT(privacy_statement(make_plan(options_, {60, 40})), HasSubstr("NOT PRIVATE"));
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
