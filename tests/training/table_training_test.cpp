// Training on tables: units, private test rows, and what the statement says of them.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <random>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/verify.h"
#include "fodp/base/check.h"
#include "fodp/data/row_views.h"
#include "fodp/data/table.h"
#include "fodp/training/evaluate.h"
#include "fodp/training/run_directory.h"
#include "fodp/training/statement.h"
#include "fodp/training/trainer.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSchema[] = R"(
[columns.x]
kind = "number"
low = -1
high = 1
[columns.z]
kind = "number"
low = -1
high = 1
[columns.who]
kind = "ignore"
[columns.y]
kind = "label"
)";

class Tables : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  // y is whether x > z; `people` of them, each with so many rows.
  std::string people(int count, int rows, const std::string& more = "") const {
    std::mt19937 engine(7);
    std::string text = "x,z,who,y\n";
    for (int person = 0; person < count; ++person)
      for (int row = 0; row < rows; ++row) {
        const double x = static_cast<double>(engine() % 2001) / 1000 - 1, z = static_cast<double>(engine() % 2001) / 1000 - 1;
        text += fmt::format("{},{},p{},{}\n", x, z, person, x > z ? "yes" : "no");
      }
    return write("people.csv", text + more);
  }

  TrainOptions options(const std::string& train, const std::string& label = "values = [\"no\", \"yes\"]\n") const {
    TrainOptions options;
    options.method = "dp-sgd";
    options.data.data = "table";
    options.data.train.names = {train};
    options.data.schema = write("schema.toml", kSchema + label);
    options.model.model = ModelKind::linear;
    options.privacy.sample_rate = .1;
    options.privacy.steps = 40;
    options.privacy.epsilon = 3;
    options.update.lr = 4;
    options.insecure_seed = 5;
    options.speed.threads = 2;
    return options;
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("fodp-tables-" + std::to_string(::getpid()));
};

TEST_F(Tables, ALinearModelLearnsALinearRule) {
  TrainOptions one = options(people(2000, 1));
  one.data.test_fraction = .2, one.data.test_seed = 1, one.data.test_public = true;
  const RunData data = load_data(one.data);
  EXPECT_NEAR(static_cast<double>(data.test->count()), 400,
              100);  // 5.6 standard deviations: false alarms below 1e-7, and the seed is fixed
  EXPECT_EQ(data.test->count() + data.train->count(), 2000);
  Trainer trainer(make_plan(one, data.sizes()), data);
  EXPECT_GT(trainer.run().evaluations.back().test_metric, .9);
  EXPECT_EQ(trainer.plan().parameters(), 2 * 2 + 2);
}

// Another row more or less changes nothing for the rest.
TEST_F(Tables, WhoIsHeldOutFollowsFromEachUnitAlone) {
  const auto held = [&](const std::string& text) {
    TableRows rows(schema_from_toml(std::string(kSchema) + "values = [\"no\", \"yes\"]\n", "own.toml"));
    rows.hold_out(.5, 3);
    rows.add_file(write("t.csv", "x,z,who,y\n" + text), TableUse::train);
    return rows.held_out();
  };
  const std::string tail = ".1,.2,a,no\n.2,.1,b,yes\n.3,.1,c,yes\n.4,.1,d,yes\n.5,.1,e,yes\n";
  std::vector<bool> with = held("0,0,x,no\n" + tail);
  with.erase(with.begin());
  EXPECT_EQ(with, held(tail));
  EXPECT_THAT(with, ::testing::Contains(true));
  EXPECT_THAT(with, ::testing::Contains(false));
}

// A table of few columns has many equal rows. They are held out one by one, and which ones stays the same with one more or less.
TEST_F(Tables, EqualRowsAreHeldOutByThemselves) {
  const auto held = [&](int count) {
    TableRows rows(schema_from_toml(std::string(kSchema) + "values = [\"no\", \"yes\"]\n", "own.toml"));
    rows.hold_out(.25, 3);
    std::string text = "x,z,who,y\n";
    for (int i = 0; i < count; ++i) text += ".1,.2,a,no\n";
    rows.add_file(write("t.csv", text), TableUse::train);
    return rows.held_out();
  };
  std::vector<bool> many = held(4000);
  EXPECT_NEAR(std::ranges::count(many, true), 1000, 170);  // 6.2 standard deviations, and the seed is fixed
  many.resize(3999);
  EXPECT_EQ(many, held(3999));
}

// One person with 1,000 rows, one of which is far out, against none: the sum moves by at most C.
TEST_F(Tables, APersonWithManyRowsMovesASumByAtMostC) {
  std::string loud;
  for (int i = 0; i < 1000; ++i) loud += "1,-1,loud,no\n";
  for (const std::int64_t rows_per_unit : {1, 3}) {
    std::vector<std::vector<float>> sums;
    for (const std::string& more : {std::string(), loud}) {
      TrainOptions one = options(people(50, 3, more));
      one.data.schema = write(
          "units.toml", fmt::format("privacy-unit = \"who\"\nrows-per-unit = {}\n{}values = [\"no\", \"yes\"]\n", rows_per_unit, kSchema));
      one.privacy.sample_rate = 1;
      one.privacy.steps = 1;
      one.privacy.epsilon.reset();
      one.privacy.noise_multiplier = 0;
      one.clip.clip_norm = .5;
      one.update.lr = 1;
      one.run.init_seed = 3;
      const RunData data = load_data(one.data);
      EXPECT_EQ(data.train->count(), more.empty() ? 50 : 51);
      const double lot = static_cast<double>(data.train->count());
      const auto start = initial_model(one, data.about);
      Trainer trainer(make_plan(one, data.sizes()), data);
      trainer.run();
      std::vector<float> sum;
      const auto before = start.module->parameters();
      for (std::size_t part = 0; part < before.size(); ++part)
        for (std::int64_t i = 0; i < before[part].numel(); ++i)
          sum.push_back(static_cast<float>(lot * (before[part].data_ptr<float>()[i] - trainer.state()[part].value.data_ptr<float>()[i])));
      sums.push_back(sum);
    }
    double squared = 0;
    for (std::size_t i = 0; i < sums[0].size(); ++i) squared += std::pow(sums[1][i] - sums[0][i], 2);
    EXPECT_LE(std::sqrt(squared), .5 * (1 + 1e-4)) << rows_per_unit;
    EXPECT_GT(std::sqrt(squared), .1) << "the person counts";
  }
}

TEST(UnitRows, EveryRowOfAUnitIsDrawnAlike) {
  const auto rows = std::make_shared<TensorRows>(at::arange(6, at::kFloat).reshape({6, 1}), at::zeros({6}, at::kLong), 2);
  const auto units = rows_by_unit(rows, {0, 1, 0, 0, 2, 1}, {0, 1, 2, 3, 4, 5}, 2);
  ASSERT_EQ(units->count(), 3);
  EXPECT_EQ(units->inputs().front().shape, (std::vector<std::int64_t>{2, 1}));
  std::mt19937_64 engine(1);
  std::map<float, int> seen;
  constexpr int kDraws = 6000;
  for (int i = 0; i < kDraws; ++i) {
    const Batch batch = units->gather_drawn(std::vector<std::int64_t>{0}, [&](std::int64_t) { return engine(); });
    ASSERT_EQ(batch.targets.sizes(), (std::vector<std::int64_t>{1, 2}));
    for (int k = 0; k < 2; ++k) ++seen[batch.inputs[0][0][k][0].item<float>()];
  }
  ASSERT_EQ(seen.size(), 3u);                                                            // rows 0, 2, 3
  for (const auto& [row, count] : seen) EXPECT_NEAR(count, 2 * kDraws / 3, 300) << row;  // 5.8 standard deviations, and the seed is fixed
}

TEST_F(Tables, TheStatementSpeaksOfUnits) {
  TrainOptions one = options(people(300, 4));
  one.insecure_seed.reset();
  one.data.privacy_unit = "who";
  const RunData data = load_data(one.data);
  const Plan plan = make_plan(one, data.sizes());
  EXPECT_EQ(plan.train_examples(), 300);
  EXPECT_EQ(plan.delta(), 1e-4) << "by people, not by rows";
  EXPECT_THAT(privacy_statement(plan),
              AllOf(HasSubstr("the column who of"), HasSubstr("(300 units to train on)"),
                    HasSubstr("add or remove one who, with all of its rows"), Not(HasSubstr("test set is public"))));
  const auto json = summary_json(plan, nullptr, objective_for(data.about.target), identity_now({}));
  EXPECT_EQ(json["unit"], "who");
  EXPECT_EQ(json["units"], 300);
}

TEST_F(Tables, PrivateTestRowsCostAndAreNoised) {
  TrainOptions one = options(people(3000, 1));
  one.data.test_fraction = .3, one.data.test_seed = 1;
  const RunData data = load_data(one.data);
  Plan plan = make_plan(one, data.sizes());
  EXPECT_EQ(plan.tests().releases, 1);
  EXPECT_NEAR(plan.tests().noise, 5 / gaussian_distance(3, plan.delta()), 1e-9);
  EXPECT_LE(plan.spent().epsilon, 3);
  EXPECT_THAT(privacy_statement(plan), HasSubstr("private, too: what is told of them has noise"));
  TrainOptions without = one;
  without.data.test_public = true;
  const Plan cheaper = make_plan(without, data.sizes());
  EXPECT_GT(plan.noise_multiplier().first(), cheaper.noise_multiplier().first());
  EXPECT_LT(plan.noise_multiplier().first(), 1.05 * cheaper.noise_multiplier().first());
  Trainer trainer(std::move(plan), data), exact(make_plan(without, data.sizes()), data);
  const Result result = trainer.run();
  ASSERT_EQ(result.evaluations.size(), 1u);
  EXPECT_EQ(total_count(result.charged), 41);
  EXPECT_TRUE(std::isnan(result.evaluations.back().test_loss)) << "only what has noise is told";
  EXPECT_NEAR(result.evaluations.back().test_metric, exact.run().evaluations.back().test_metric, .1);  // the seed is fixed
}

// It may go on, and tests at its end.
TEST_F(Tables, AnInterruptedRunKeepsItsLookAtPrivateTestRows) {
  TrainOptions one = options(people(500, 1));
  one.data.test_fraction = .3, one.data.test_seed = 1;
  const RunData data = load_data(one.data);
  Trainer trainer(make_plan(one, data.sizes()), data);
  const Result result = trainer.run({.stepped = [](const Progress& progress) { return progress.step < 5; }});
  EXPECT_EQ(total_count(result.charged), 5);
  EXPECT_TRUE(std::isnan(result.evaluations.back().test_metric));
  EXPECT_TRUE(std::isnan(result.best_test_metric));
}

// Looks that are taken again cost again, and steps are left out for them: the guarantee may be a little less than that of the plan.
TEST_F(Tables, ARunThatWasKilledAfterALookIsValidInTheEnd) {
  TrainOptions one = options(people(500, 1));
  one.insecure_seed.reset();
  one.data.test_fraction = .3, one.data.test_seed = 1;
  one.run.eval_every = 10, one.run.checkpoint_every = 16;
  const RunData data = load_data(one.data);
  {
    Trainer trainer(make_plan(one, data.sizes()), data);
    const RunDirectory directory(folder_ / "run", trainer, data.fingerprint);
    const auto killed = [](const Progress& progress) { return progress.step < 23 ? true : throw std::runtime_error("killed"); };
    EXPECT_THROW(trainer.run({.stepped = killed}), std::runtime_error);
  }
  Trainer trainer(make_plan(one, data.sizes()), data);
  RunDirectory directory(RunDirectory::Resume(), folder_ / "run", trainer, data.fingerprint);
  EXPECT_EQ(trainer.steps_taken(), 16);
  const Result result = trainer.run();
  EXPECT_LE(result.spent.epsilon, 3);
  EXPECT_LT(result.spent.epsilon, trainer.plan().spent().epsilon);
  RunIdentity identity = identity_now(data.fingerprint);
  directory.finish(result, trainer.state(), data.about, identity);
  EXPECT_THAT(verify_run(folder_ / "run").problems, ::testing::IsEmpty());
}

// Somebody with a thousand test rows counts as one there, too.
TEST_F(Tables, PrivateTestRowsCountByUnit) {
  TrainOptions one = options(people(50, 2));
  std::string rows = "x,z,who,y\n0,1,ann,no\n";
  for (int i = 0; i < 1000; ++i) rows += "1,0,bob,yes\n";
  one.data.test.names = {write("test.csv", rows)};
  EXPECT_EQ(load_data(one.data).test->count(), 1001) << "by rows";
  one.data.privacy_unit = "who";
  EXPECT_EQ(load_data(one.data).test->count(), 2);
  one.data.test_public = true;
  EXPECT_EQ(load_data(one.data).test->count(), 1001);
}

// The first so many rows would be of more or fewer people, as one of them has many rows or none.
TEST_F(Tables, TestRowsThatCountByUnitAreNotCut) {
  TrainOptions one = options(people(50, 2));
  one.data.privacy_unit = "who";
  one.data.test_size = 10;
  const auto complaint = [&]() -> std::string {
    try {
      load_data(one.data);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  one.data.test_fraction = .3, one.data.test_seed = 1;
  EXPECT_THAT(complaint(), HasSubstr("`test-size` is for test rows that are each by itself"));
  one.data.test_fraction.reset(), one.data.test_seed.reset();
  std::string rows = "x,z,who,y\n";
  for (int i = 0; i < 20; ++i) rows += fmt::format("0,1,p{},no\n", i / 2);
  one.data.test.names = {write("test.csv", rows)};
  EXPECT_THAT(complaint(), HasSubstr("`test-size` is for test rows that are each by itself"));
  one.data.test_public = true;
  EXPECT_EQ(complaint(), "") << "rows that are public count by themselves";
}

TEST_F(Tables, APlanKnowsThatTestsCostBeforeItKnowsHowManyRowsThereAre) {
  TrainOptions one = options(people(50, 2));
  one.data.test_fraction = .3, one.data.test_seed = 1;
  const Plan before = make_plan(one, {500, 0, SizesFrom::option}), after = make_plan(one, {500, 200});
  EXPECT_EQ(before.events(), after.events());
  EXPECT_EQ(before.noise_multiplier().first(), after.noise_multiplier().first());
}

// Of ten rows the noise is larger than any share of them.
TEST_F(Tables, ANoisyShareOfTheTestRowsStaysAShare) {
  TrainOptions one = options(people(12, 1));
  one.data.test_fraction = .5, one.data.test_seed = 1;
  one.privacy.steps = 30;
  one.run.eval_every = 1;
  const RunData data = load_data(one.data);
  Trainer trainer(make_plan(one, data.sizes()), data);
  bool least = false, most = false;
  for (const Evaluation& evaluation : trainer.run().evaluations) {
    EXPECT_GE(evaluation.test_metric, 0);
    EXPECT_LE(evaluation.test_metric, 1);
    least = least || evaluation.test_metric == 0, most = most || evaluation.test_metric == 1;
  }
  EXPECT_TRUE(least && most) << "the seed is fixed";
}

// What was learnt belongs to the inputs as they were made until then.
TEST_F(Tables, ARunGoesOnWithItsSchemaOnly) {
  const TrainOptions one = options(people(50, 2));
  const RunData data = load_data(one.data);
  const RunFiles files{folder_ / "ledger", folder_ / "checkpoint", data.fingerprint};
  {
    Trainer trainer(make_plan(one, data.sizes()), data);
    trainer.keep(files);
    trainer.run({.stepped = [](const Progress& progress) { return progress.step < 5; }});
  }
  std::string changed = kSchema;
  changed.replace(changed.find("high = 1"), 8, "high = 2");
  write("schema.toml", changed + "values = [\"no\", \"yes\"]\n");
  const RunData other = load_data(one.data);
  Trainer trainer(make_plan(one, other.sizes()), other);
  EXPECT_THAT([&] { trainer.keep(files); }, ::testing::ThrowsMessage<InputError>(HasSubstr("another plan")));
}

TEST_F(Tables, MoreLooksAtPrivateTestRowsCostMore) {
  TrainOptions one = options(people(500, 1));
  one.data.test_fraction = .3, one.data.test_seed = 1;
  one.run.eval_every = 15;
  const RunData data = load_data(one.data);
  Trainer trainer(make_plan(one, data.sizes()), data);
  EXPECT_EQ(trainer.plan().tests().releases, 3);
  EXPECT_EQ(trainer.run().evaluations.size(), 3u);
}

// A row adds at most its bound to each sum, whatever the model says.
TEST_F(Tables, SumsOverTestRowsAreBounded) {
  const RunData data = load_data(options(write("numbers.csv", "x,z,who,y\n1,1,a,3\n-1,0,b,99\n"), "low = 0\nhigh = 10\n").data);
  for (const float value : {1e30f, -1e30f, NAN, .5f}) {
    const Model model{.module = nullptr, .forward = [&](const at::Tensor& inputs) { return at::full({inputs.size(0), 1}, value); }};
    const std::vector<double> sums = bounded_sums(model, *data.train, objective_for(data.about.target));
    ASSERT_EQ(sums.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LE(std::abs(sums[i]), 2 * objective_for(data.about.target).part_bounds[i]) << value;
  }
}

TEST_F(Tables, ARegressionRecoversKnownStructure) {
  std::mt19937 engine(3);
  std::string text = "x,z,who,y\n";
  for (int i = 0; i < 3000; ++i) {
    const double x = static_cast<double>(engine() % 2001) / 1000 - 1, z = static_cast<double>(engine() % 2001) / 1000 - 1;
    text += fmt::format("{},{},p{},{}\n", x, z, i, 50 + 20 * x - 10 * z);
  }
  TrainOptions one = options(write("numbers.csv", text), "low = 0\nhigh = 100\n");
  one.data.test_fraction = .2, one.data.test_seed = 1, one.data.test_public = true;
  one.privacy.steps = 150;
  one.update.lr = .5;
  const RunData data = load_data(one.data);
  Trainer trainer(make_plan(one, data.sizes()), data);
  const Evaluation last = trainer.run().evaluations.back();
  EXPECT_GT(last.test_metric, .97);
  EXPECT_LT(last.test_error, 2.5) << "in the units of the label";
  const StateDict state = trainer.state();  // y/50 - 1 = .4 x - .2 z
  EXPECT_NEAR(state[0].value[0][0].item<float>(), .4, .05);
  EXPECT_NEAR(state[0].value[0][1].item<float>(), -.2, .05);
}

// Methods' learning rates are for classes: with them, nothing would be learnt of a number.
TEST_F(Tables, ARegressionLearnsWithoutARateOfItsOwn) {
  std::mt19937 engine(3);
  std::string text = "x,z,who,y\n";
  for (int i = 0; i < 3000; ++i) {
    const double x = static_cast<double>(engine() % 2001) / 1000 - 1, z = static_cast<double>(engine() % 2001) / 1000 - 1;
    text += fmt::format("{},{},p{},{}\n", x, z, i, 50 + 20 * x - 10 * z);
  }
  for (const char* method : {"fo-dp-sgd", "dp-sgd", "dp-adam"}) {
    TrainOptions one = options(write("numbers.csv", text), "low = 0\nhigh = 100\n");
    one.method = method;
    one.privacy.steps = 300;
    one.update.lr.reset();
    one.data.test_fraction = .2, one.data.test_seed = 1, one.data.test_public = true;
    const RunData data = load_data(one.data);
    Trainer trainer(make_plan(one, data.sizes()), data);
    EXPECT_GT(trainer.run().evaluations.back().test_metric, .95) << method;
  }
}

TEST_F(Tables, OptionsThatDoNotGoTogetherAreRefused) {
  const std::string file = people(20, 1);
  const auto says = [&](auto change) -> std::string {
    TrainOptions one = options(file);
    change(one);
    try {
      make_plan(one, load_data(one.data).sizes());
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(says([](TrainOptions& one) { one.data.schema.reset(); }), HasSubstr("needs `schema`"));
  EXPECT_THAT(says([](TrainOptions& one) { one.data.train = {}; }), HasSubstr("needs `train`"));
  EXPECT_THAT(says([](TrainOptions& one) { one.data.data_dir = "x"; }), HasSubstr("`data-dir` is for named data sets"));
  EXPECT_THAT(says([](TrainOptions& one) { one.data.privacy_unit = "whom"; }), HasSubstr("there is no column 'whom'"));
  EXPECT_THAT(says([](TrainOptions& one) { one.data.test_seed = 3; }), HasSubstr("`test-seed` is for `test-fraction`"));
  EXPECT_THAT(says([](TrainOptions& one) { one.model.model = ModelKind::cnn; }), HasSubstr("`model` cnn is for images"));
  EXPECT_THAT(says([](TrainOptions& one) { one.data.data = "fashion-mnist"; }), HasSubstr("is not for the data fashion-mnist"));
  EXPECT_THAT(says([&](TrainOptions& one) {
                one.data.schema = write("draft.toml", std::string(kSchema) + "values = [\"no\", \"yes\"]\nfrom_data = true\n");
              }),
              HasSubstr("were taken from the data (y)"));
}

}  // namespace
}  // namespace fodp
