#include "fodp/training/feature_defaults.h"

#include <set>

#include <gtest/gtest.h>

#include "fodp/training/plan.h"
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
  EXPECT_EQ(fill(options).size(), 7u);
  options.privacy.delta = 1e-5;
  const Plan plan = make_plan(options, {50000, 10000});
  EXPECT_EQ(plan.parameters(), 409600) << "no bias";
  EXPECT_EQ(plan.steps(), 60);
  EXPECT_EQ(plan.sample_rate().first(), 1);
  EXPECT_EQ(plan.options().clip.clip_norm, .12);
  EXPECT_EQ(*plan.options().update.lr, 900);
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
  EXPECT_EQ(options.clip.clip_norm, .12);
}

TEST(FeatureDefaults, AreForLinearModelsOnFeaturesOnly) {
  TrainOptions mlp = on_features(ModelKind::mlp), pixels = on_features();
  pixels.data.features = "none";
  EXPECT_TRUE(fill(mlp).empty());
  EXPECT_TRUE(fill(pixels).empty());
}

}  // namespace
}  // namespace fodp
