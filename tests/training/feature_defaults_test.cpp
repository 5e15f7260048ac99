#include "fodp/training/feature_defaults.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "fodp/training/plan.h"
#include "fodp/training/stages.h"
#include "fodp/update/momentum.h"

namespace fodp {
namespace {

TrainOptions on_features(ModelKind model = ModelKind::linear) {
  TrainOptions options;
  options.data.data = "cifar-10";
  options.data.features = "patches";
  options.model.model = model;
  return options;
}

std::vector<std::string> fill(TrainOptions& options, const std::set<std::string, std::less<>>& set = {}) {
  return fill_feature_defaults(options, [&](std::string_view option) { return set.contains(option); });
}

TEST(FeatureDefaults, AreFullBatchHeavyBall) {
  TrainOptions options = on_features();
  EXPECT_EQ(fill(options).size(), 6u);
  options.privacy.delta = 1e-5;
  const Plan plan = make_plan(options, {50000, 10000});
  EXPECT_EQ(plan.parameters(), 409600) << "no bias";
  EXPECT_EQ(plan.steps(), 60);
  EXPECT_EQ(plan.sample_rate().first(), 1);
  EXPECT_EQ(plan.options().clip.clip_norm, .06);
  EXPECT_EQ(*plan.options().update.lr, 1900);
  EXPECT_TRUE(plan.lr_is_planned());
  EXPECT_EQ(plan.options().own.of<MomentumOptions>().momentum_form, MomentumForm::heavy_ball);
  // Full batch: T Gaussians are one of noise sigma/sqrt(T), whose parameter at (3, 1e-5) is .7191174. Rounding costs .2%.
  EXPECT_NEAR(plan.noise_multiplier().first(), 10.771491, .03);
}

TEST(FeatureDefaults, LeaveWhatTheUserChose) {
  TrainOptions options = on_features();
  options.privacy.steps = 30;
  options.method = "dp-sgd";
  fill(options, {"steps", "method"});
  EXPECT_EQ(options.privacy.steps, 30);
  EXPECT_EQ(options.method, "dp-sgd");
  EXPECT_FALSE(options.update.lr.has_value()) << "another method needs another rate";
  EXPECT_EQ(options.clip.clip_norm, .06);
}

// What the noise of the last step leaves in an output, for a row of norm 1: lr times the root of the sum of squares of a geometric sum.
TEST(FeatureDefaults, LearningRateFollowsFromTheNoise) {
  const auto noise_of_output = [](const Plan& plan) {
    const double each = plan.noise_multiplier().first() * plan.options().clip.clip_norm / static_cast<double>(plan.train_examples());
    const double momentum = plan.options().method == "momentum" ? plan.options().own.of<MomentumOptions>().momentum : 0;
    double squares = 0, moves = 0;
    for (std::int64_t step = 0; step < plan.steps(); ++step) moves = 1 + momentum * moves, squares += moves * moves;
    return *plan.options().update.lr * each * std::sqrt(squares);
  };
  for (const double epsilon : {.5, 1., 3.})
    for (const std::int64_t rows : {1000, 5000, 50000})
      for (const char* method : {"momentum", "dp-sgd", "fo-dp-sgd"}) {
        TrainOptions options = on_features();
        options.privacy.epsilon = epsilon;
        options.privacy.delta = 1e-5;
        options.method = method;
        fill(options, {"method"});
        if (options.method == "momentum") options.own.of<MomentumOptions>().momentum_form = MomentumForm::heavy_ball;
        const Plan plan = make_plan(options, {rows, 100});
        EXPECT_TRUE(plan.lr_is_planned());
        EXPECT_NEAR(noise_of_output(plan), kLogitNoise, .25 * kLogitNoise) << epsilon << " " << rows << " " << method;
      }
}

TEST(FeatureDefaults, LearningRateIsBoundedWithoutNoise) {
  TrainOptions options = on_features();
  fill(options);
  options.privacy.epsilon.reset();
  options.privacy.noise_multiplier = 0;
  EXPECT_EQ(*make_plan(options, {50000, 100}).options().update.lr, 3800) << "kMostTravel over clip norm, steps and 1/(1 - momentum)";
}

TEST(FeatureDefaults, RulesThatScaleGradientsKeepTheirOwnRate) {
  TrainOptions options = on_features();
  options.method = "dp-adam";
  fill(options, {"method"});
  const Plan plan = make_plan(options, {50000, 100});
  EXPECT_FALSE(plan.lr_is_planned());
  EXPECT_LT(*plan.options().update.lr, 1);
}

TEST(FeatureDefaults, AreForLinearModelsOnFeaturesOnly) {
  TrainOptions mlp = on_features(ModelKind::mlp), pixels = on_features();
  pixels.data.features = "none";
  EXPECT_TRUE(fill(mlp).empty());
  EXPECT_TRUE(fill(pixels).empty());
}

}  // namespace
}  // namespace fodp
