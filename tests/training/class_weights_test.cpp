// Weights of classes: what they do to a loss, whom they are refused for, and that a rare class is found more often.
#include "fodp/training/class_weights.h"

#include <unistd.h>

#include <fstream>
#include <numeric>
#include <random>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/training/evaluate.h"
#include "fodp/training/model_file.h"
#include "fodp/training/run_directory.h"
#include "fodp/training/trainer.h"

namespace fodp {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const Target kTwo{Target::Kind::classes, 2, {{}, at::kLong}};

std::string refused(const ClassWeights& weights, const Target& target, const std::vector<std::string>& names = {}) {
  try {
    check_class_weights(weights, target, names);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ClassWeights, AreReadWrittenAndChecked) {
  using Text = FieldText<ClassWeights>;
  EXPECT_EQ(Text::parse("0.2,1,30", "", {}).weights, (std::vector<double>{.2, 1, 30}));
  EXPECT_EQ(Text::print({{.2, 1}}), "0.2,1");
  for (const char* bad : {"1,-1", "1,nan", "1,inf", "0,1", "1,,2", "1,x", "1e7", "no=1,yes=5", ","})
    EXPECT_THROW(Text::parse(bad, "class-weights", {}), InputError) << bad;
  EXPECT_EQ(refused({}, kTwo), "");
  EXPECT_EQ(refused({{1, 5}}, kTwo), "");
  EXPECT_THAT(refused({{1, 5, 2}}, kTwo, {"no", "yes"}),
              HasSubstr("3 weights: there are 2 classes, and each needs one, in this order: no, yes"));
  EXPECT_THAT(refused({{1, 5}}, {Target::Kind::number, 0, {}}), HasSubstr("is a number"));
  EXPECT_THAT(refused({{1, -5}}, kTwo, {"no", "yes"}), HasSubstr("-5 for class yes is not allowed"));
  EXPECT_THAT(refused({{1, NAN}}, kTwo), HasSubstr("not allowed"));
}

TEST(ClassWeights, MultiplyTheLossOfEachRowAndOfEachRowOfAUnit) {
  torch::manual_seed(1);
  const Objective& objective = objective_for(kTwo);
  const at::Tensor outputs = torch::randn({6, 2}), targets = torch::tensor({0, 1, 1, 0, 1, 0});
  const at::Tensor weights = ClassWeights{{.5, 3}}.tensor(), plain = objective.row_losses(outputs, targets);
  const at::Tensor by_row = unit_losses(objective, outputs, targets, weights);
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(by_row[i].item<float>(), plain[i].item<float>() * (targets[i].item<std::int64_t>() == 1 ? 3.f : .5f));
  const at::Tensor by_unit = unit_losses(objective, outputs.reshape({3, 2, 2}), targets.reshape({3, 2}), weights);
  EXPECT_TRUE(at::allclose(by_unit, by_row.reshape({3, 2}).mean(1)));
  EXPECT_TRUE(at::equal(unit_losses(objective, outputs, targets), plain));
}

class UnbalancedTable : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "schema.toml")
        << "[columns.x]\nkind = \"number\"\nlow = -4\nhigh = 4\n[columns.y]\nkind = \"label\"\nvalues = [\"often\", \"rare\"]\n";
    std::mt19937 engine(3);
    std::normal_distribution<double> normal;
    std::ofstream table(folder_ / "table.csv");
    table << "x,y\n";
    for (int i = 0; i < 4000; ++i) {
      const bool rare = i % 10 == 0;
      table << fmt::format("{:.6f},{}\n", normal(engine) + (rare ? 1.0 : -.3), rare ? "rare" : "often");
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TrainOptions options(std::vector<double> weights) const {
    TrainOptions options;
    options.method = "dp-sgd";
    options.data.data = "table";
    options.data.train.names = {(folder_ / "table.csv").string()};
    options.data.schema = (folder_ / "schema.toml").string();
    options.model.model = ModelKind::linear;
    options.privacy.sample_rate = .1;
    options.privacy.steps = 150;
    options.privacy.epsilon = 3;
    options.update.lr = 4;
    options.insecure_seed = 5;
    options.run.class_weights.weights = std::move(weights);
    return options;
  }

  // The share of rare rows that are found, and of others that are taken for what they are.
  std::pair<double, double> recalls(std::vector<double> weights) const {
    const TrainOptions one = options(std::move(weights));
    const RunData data = load_data(one.data);
    Trainer trainer(make_plan(one, data.sizes()), data);
    trainer.run();
    const Model model = make_model(one.model, shape_for_model(data.about));
    set_parameters(trainer.state(), *model.module, "state");
    std::vector<std::int64_t> all(static_cast<std::size_t>(data.train->count()));
    std::iota(all.begin(), all.end(), 0);
    const at::NoGradGuard no_gradients;
    const Batch batch = data.train->gather(all);
    const at::Tensor right = model.forward(batch.inputs).argmax(1).eq(batch.targets).to(at::kDouble);
    return {right.index({batch.targets.eq(1)}).mean().item<double>(), right.index({batch.targets.eq(0)}).mean().item<double>()};
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / ("fodp-weights-" + std::to_string(::getpid()));
};

TEST_F(UnbalancedTable, ARareClassIsFoundMoreOftenAtTheSameCost) {
  const auto [plain, plain_often] = recalls({});
  const auto [weighted, weighted_often] = recalls({.1, 1});
  EXPECT_LT(plain, .3) << "a tenth of the rows: the other class is the better bet";
  EXPECT_GT(weighted, plain + .3);
  EXPECT_GT(weighted_often, .5) << "not by calling every row rare";
  EXPECT_LT(weighted_often, plain_often);
  const Plan a = make_plan(options({}), {4000, 0}), b = make_plan(options({.1, 1}), {4000, 0});
  EXPECT_EQ(a.spent().epsilon, b.spent().epsilon);
  EXPECT_EQ(a.noise_multiplier().first(), b.noise_multiplier().first());
}

TEST_F(UnbalancedTable, WeightsArePartOfThePlan) {
  const Plan none = make_plan(options({}), {4000, 0}), one = make_plan(options({1, 5}), {4000, 0}),
             other = make_plan(options({1, 6}), {4000, 0});
  EXPECT_NE(none.fingerprint(), one.fingerprint());
  EXPECT_NE(one.fingerprint(), other.fingerprint());
  EXPECT_EQ(config_json(one)["class_weights"], "1,5");
  EXPECT_TRUE(config_json(none)["class_weights"].is_null());
  EXPECT_THAT(one.warnings(), Not(Contains(HasSubstr("class-weights"))));
  TrainOptions scaled = options({1, 5});
  scaled.stages.clipping = "automatic";
  EXPECT_THAT(make_plan(scaled, {4000, 0}).warnings(), Contains(HasSubstr("`class-weights` has next to no effect")));
  EXPECT_THROW(make_plan(options({1, 5, 1}), {4000, 0}), InputError);
}

// A test loss is that of the rows as they are.
TEST_F(UnbalancedTable, TestLossesAreNotWeighted) {
  TrainOptions one = options({.01, 100});
  one.privacy.steps = 1;
  one.update.lr = 1e-9;  // the model stays where it starts, at about chance
  const std::filesystem::path train = one.data.train.names.at(0), test = train.parent_path() / "test.csv";
  std::filesystem::copy_file(train, test);
  one.data.test.names = {test.string()};
  one.data.test_public = true;
  const RunData data = load_data(one.data);
  Trainer trainer(make_plan(one, data.sizes()), data);
  TrainOptions same = one;
  same.run.class_weights = {};
  Trainer plain(make_plan(same, data.sizes()), data);
  EXPECT_NEAR(trainer.run().evaluations.back().test_loss, plain.run().evaluations.back().test_loss, 1e-6);
}

}  // namespace
}  // namespace fodp
