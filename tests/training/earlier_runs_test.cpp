// What was spent before a run counts in it: by files that name their cost, by summaries, and in one's own program.
#include "fodp/training/earlier_runs.h"

#include <unistd.h>

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/accounting/merged_events.h"
#include "fodp/accounting/run_file.h"
#include "fodp/base/check.h"
#include "fodp/training/model_file.h"
#include "fodp/training/run_directory.h"
#include "fodp/training/statement.h"
#include "training/small_data.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const DataSizes kSizes = {60, 40};

class Earlier : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fodp-earlier-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    options_.data.data = "mnist";
    options_.model.hidden = {4};
    options_.privacy = {.noise_multiplier = 2, .sample_rate = .5, .steps = 4};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  // Trains into a run directory.
  Result train(const std::string& name, const TrainOptions& options) const {
    static const Dataset data = testing::small_data(kSizes.train, kSizes.test);
    Trainer trainer(make_plan(options, kSizes), data);
    RunDirectory directory(folder_ / name, trainer);
    const Result result = trainer.run();
    RunIdentity identity = identity_now("");
    directory.finish(result, trainer.state(), describe_named(*data.format), identity);
    return result;
  }
  TrainOptions starting_from(const std::string& name) const {
    TrainOptions options = options_;
    options.run.init = file(name);
    return options;
  }
  nlohmann::json json(const std::string& name) const {
    std::ifstream stream(folder_ / name);
    return nlohmann::json::parse(stream);
  }

  std::filesystem::path folder_;
  TrainOptions options_;
};

template <class Error>
std::string complaint(const TrainOptions& options) {
  try {
    make_plan(options, kSizes);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(Earlier, ParametersBringTheirCostAndAChainCountsEachRunOnce) {
  const Result a = train("a", options_);
  TrainOptions from_a = starting_from("a/model.pt");
  from_a.privacy.steps = 3;
  const Result b = train("b", from_a);
  EXPECT_EQ(total_count(b.events), 7);
  EXPECT_GT(b.spent.epsilon, a.spent.epsilon);
  EXPECT_NE(a.run, b.run);
  const auto summary = json("b/summary.json");
  EXPECT_EQ(summary["started_from"], (nlohmann::json{{"file", file("a/model.pt")}, {"cost", "spent"}}));
  EXPECT_EQ(summary["run"], b.run);
  EXPECT_EQ(summary["earlier"][0]["run"], a.run);
  EXPECT_NEAR(summary["epsilon"], make_accountant(AccountantKind::pld)->epsilon(b.events, 1e-3).epsilon, 1e-9);

  TrainOptions from_b = starting_from("b/model.pt");
  from_b.privacy.steps = 2;
  for (const char* again : {"a", "b/summary.json", "a/summary.json"}) from_b.run.spent.names.push_back(file(again));
  const Plan c = make_plan(from_b, kSizes);
  EXPECT_EQ(c.earlier().runs.size(), 2u);
  EXPECT_EQ(total_count(c.events()), 9) << "4 of a, 3 of b and 2 of its own, however often a and b are named";
  EXPECT_EQ(total_count(c.own_events()), 2);
  EXPECT_TRUE(c.is_private());
  EXPECT_THAT(privacy_statement(c), AllOf(HasSubstr("Started from"), HasSubstr("Spent before")));
}

// What a run cost each row is not what it cost a person with several rows, and the other way round.
TEST_F(Earlier, RunsOfDifferentUnitsAreNotAddedUp) {
  train("a", options_);
  const Model model = make_model(options_.model, shape_for_model(describe_named(*testing::small_data(2, 2).format)));
  const auto complaint_of = [&](const TrainOptions& options, const std::string& unit) -> std::string {
    try {
      make_plan(options, DataFacts{.sizes = kSizes, .unit = unit}, *model.module);
    } catch (const PrivacyError& error) {
      return error.what();
    }
    return "accepted";
  };
  TrainOptions after = options_;
  after.run.spent.names = {file("a")};
  EXPECT_EQ(complaint_of(after, "row"), "accepted");
  EXPECT_THAT(complaint_of(after, "patient"), HasSubstr("protects each row, and this one each patient"));
  EXPECT_THAT(complaint_of(starting_from("a/model.pt"), "patient"), HasSubstr("protects each row, and this one each patient"));
  TrainOptions declared = starting_from("a/model.pt");
  declared.run.init_public = true;
  EXPECT_EQ(complaint_of(declared, "patient"), "accepted");
  std::filesystem::remove(folder_ / "a/summary.json");  // a run that was killed: its ledger tells
  EXPECT_THAT(complaint_of(after, "patient"), HasSubstr("protects each row, and this one each patient"));
  after.run.spent = {};
  after.spent = {{.events = {{Event::gaussian(3), 1}}, .unit = "patient"}};
  EXPECT_EQ(complaint_of(after, "patient"), "accepted");
  EXPECT_THAT(complaint_of(after, "row"), HasSubstr("protects each patient, and this one each row"));
  after.spent = {{.events = {{Event::gaussian(3), 1}}}};
  EXPECT_EQ(complaint_of(after, "patient"), "accepted") << "a list of events is as its user says";
}

TEST_F(Earlier, BothKindsOfModelFilesCarryTheirCost) {
  const Result a = train("a", options_);
  const nlohmann::json model = json("a/model.json");
  EXPECT_EQ(model["run"], a.run);
  for (const char* name : {"copy.pt", "copy.safetensors"}) {
    save_state_dict(load_state_dict(file("a/model.pt")), file(name), {{kModelKey, model.dump()}});
    const auto cost = cost_of_model(file(name));
    ASSERT_TRUE(cost) << name;
    ASSERT_EQ(cost->size(), 1u);
    EXPECT_EQ(cost->front().events, a.events);
    EXPECT_EQ(cost->front().run, a.run);
  }
  save_state_dict(load_state_dict(file("a/model.pt")), file("bad.pt"), {{kModelKey, "{"}});
  EXPECT_THROW(cost_of_model(file("bad.pt")), InputError);
}

// A file without a text of its own is known by its hash.
TEST_F(Earlier, AModelJsonBesideAFileCountsIfItIsOfThatFile) {
  train("a", options_);
  const StateDict parameters = load_state_dict(file("a/model.pt"));
  save_state_dict(parameters, file("a/plain.pt"));
  EXPECT_FALSE(cost_of_model(file("a/plain.pt")));
  nlohmann::json summary = json("a/summary.json");
  summary["model_sha256"] = sha256_file(file("a/plain.pt"));
  std::ofstream(folder_ / "a/summary.json") << summary.dump();
  EXPECT_TRUE(cost_of_model(file("a/plain.pt")));
}

TEST_F(Earlier, AFileThatClaimsToHaveCostNothingDoesNotSayWhatItCost) {
  train("a", options_);
  nlohmann::json free = json("a/model.json");
  free["events"][0]["count"] = 0;
  for (const nlohmann::json& events : {free["events"], nlohmann::json::array()}) {
    free["events"] = events;
    save_state_dict(load_state_dict(file("a/model.pt")), file("free.pt"), {{kModelKey, free.dump()}});
    EXPECT_FALSE(cost_of_model(file("free.pt"))) << events;
  }
}

TEST_F(Earlier, APlainFileIsOfUnknownCostUnlessItIsDeclaredPublic) {
  const Result a = train("a", options_);
  save_state_dict(load_state_dict(file("a/model.pt")), file("plain.pt"));
  TrainOptions options = starting_from("plain.pt");
  const Plan unknown = make_plan(options, kSizes);
  EXPECT_EQ(unknown.earlier().started_from->cost, StartCost::unknown);
  EXPECT_THAT(unknown.privacy_warnings(), ElementsAre(HasSubstr("plain.pt")));
  EXPECT_THAT(privacy_statement(unknown), AllOf(HasSubstr("Started from"), HasSubstr("is not known"), HasSubstr("Warning")));

  options.run.init_public = true;
  const Plan declared = make_plan(options, kSizes);
  EXPECT_EQ(declared.earlier().started_from->cost, StartCost::declared_public);
  EXPECT_THAT(declared.warnings(), IsEmpty());
  EXPECT_THAT(privacy_statement(declared), HasSubstr("declared public"));

  options.run.init = file("a/model.pt");
  EXPECT_EQ(total_count(make_plan(options, kSizes).events()), 4) << "public, whatever the file says";
  options.run.init.reset();
  EXPECT_THAT(complaint<InputError>(options), HasSubstr("`init-public`"));
}

TEST_F(Earlier, TheBudgetIsThatOfAllTogether) {
  const Result a = train("a", options_);
  TrainOptions options = starting_from("a/model.pt");
  options.privacy.noise_multiplier.reset();
  options.privacy.epsilon = 1.5 * a.spent.epsilon;
  const Plan plan = make_plan(options, kSizes);
  EXPECT_LE(plan.spent().epsilon, *options.privacy.epsilon);
  EXPECT_GT(plan.spent().epsilon, .999 * *options.privacy.epsilon);
  EXPECT_EQ(plan.spent_before().epsilon, a.spent.epsilon);
  for (double share : {1., .5}) {
    options.privacy.epsilon = share * a.spent.epsilon;
    EXPECT_THAT(complaint<PrivacyError>(options), AllOf(HasSubstr("a/model.pt"), HasSubstr("`epsilon`"), HasSubstr("`init-public`")));
  }
  options.run.init_public = true;
  EXPECT_EQ(complaint<PrivacyError>(options), "accepted");
}

TEST_F(Earlier, RunsThatWereNotPrivateMakeThisOneSo) {
  options_.insecure_seed = 3;
  train("seeded", options_);
  options_.insecure_seed.reset();
  TrainOptions noiseless = options_;
  noiseless.privacy.noise_multiplier = 0;
  train("noiseless", noiseless);
  const Plan seeded = make_plan(starting_from("seeded/model.pt"), kSizes);
  EXPECT_THAT(seeded.insecure(), ElementsAre(AllOf(HasSubstr("init: "), HasSubstr("insecure-seed"))));
  EXPECT_FALSE(std::isinf(seeded.spent().epsilon));

  TrainOptions calibrated = starting_from("noiseless/model.pt");
  calibrated.privacy.noise_multiplier.reset();  // epsilon 3
  const Plan plan = make_plan(calibrated, kSizes);
  EXPECT_FALSE(plan.is_private());
  EXPECT_TRUE(std::isinf(plan.spent().epsilon));
  EXPECT_GT(plan.noise_multiplier().first(), 0);
  EXPECT_EQ(total_count(train("after", calibrated).charged), 8) << "it can be run, and says what it is";
  EXPECT_EQ(json("after/summary.json")["epsilon"], "inf");

  options_.run.spent.names = {file("seeded")};
  EXPECT_THAT(make_plan(options_, kSizes).insecure(), ElementsAre(HasSubstr("spent: ")));
}

TEST_F(Earlier, AStateIsOfARunThatHadSpentTheSame) {
  TrainOptions spent = options_;
  spent.spent = {{.events = {{Event::gaussian(5), 3}}}};
  EXPECT_NE(make_plan(spent, kSizes).fingerprint(), make_plan(options_, kSizes).fingerprint());
  EXPECT_EQ(total_count(make_plan(spent, kSizes).events()), 7);
  EXPECT_THAT(privacy_statement(make_plan(spent, kSizes)), AllOf(HasSubstr("Spent before"), Not(HasSubstr("Started from"))));
}

TEST_F(Earlier, AFileThatDoesNotFitIsBadInputBeforeItIsACost) {
  train("a", options_);
  TrainOptions options = starting_from("a/model.pt");
  options.model.hidden = {5};
  options.privacy = {.epsilon = 1e-3, .sample_rate = .5, .steps = 4};
  EXPECT_THAT(complaint<InputError>(options), HasSubstr("1.weight"));
  options = options_;
  options.run.spent.names = {file("none")};
  EXPECT_THAT(complaint<InputError>(options), HasSubstr("`spent` " + file("none")));
}

}  // namespace
}  // namespace fodp
