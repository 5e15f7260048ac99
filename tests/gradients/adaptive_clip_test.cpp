#include "fodp/gradients/adaptive_clip.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// 30 of 40 rows unclipped: a count of 10, a share of .75.
TEST(AdaptiveClip, ByHand) {
  AdaptiveClip clip(2, {.count_noise = 1});
  EXPECT_EQ(clip.clip_norm(), 2);
  clip.adapt(10, 40);
  EXPECT_NEAR(clip.clip_norm(), 2 * std::exp(-.2 * .25), 1e-14);
  AdaptiveClip other(2, {.clip_target = .9, .clip_rate = 1, .count_noise = 1});
  other.adapt(10, 40);
  EXPECT_NEAR(other.clip_norm(), 2 * std::exp(.15), 1e-14);
}

TEST(AdaptiveClip, FallsWhenTooFewAreClippedAndRisesWhenTooMany) {
  AdaptiveClip clip(1, {.count_noise = 1});
  clip.adapt(20, 40);  // none clipped
  EXPECT_LT(clip.clip_norm(), 1);
  clip = AdaptiveClip(1, {.count_noise = 1});
  clip.adapt(-20, 40);  // all clipped
  EXPECT_GT(clip.clip_norm(), 1);
  clip = AdaptiveClip(1, {.count_noise = 1});
  clip.adapt(0, 40);
  EXPECT_EQ(clip.clip_norm(), 1);
}

TEST(AdaptiveClip, StaysWithinAHundredfoldOfItsStart) {
  AdaptiveClip clip(3, {.count_noise = 1});
  for (int t = 0; t < 200; ++t) clip.adapt(20, 40);
  EXPECT_EQ(clip.clip_norm(), 3. / 100);
  for (int t = 0; t < 200; ++t) clip.adapt(-20, 40);
  EXPECT_EQ(clip.clip_norm(), 300);
  clip.adapt(1e300, 1);  // however wild the noise
  EXPECT_EQ(clip.clip_norm(), 3. / 100);
}

TEST(AdaptiveClip, ComesToTheQuantileOfFixedNorms) {
  std::mt19937_64 engine(6);
  std::lognormal_distribution<double> distribution(1, .8);
  std::vector<double> norms(1000);
  for (double& norm : norms) norm = distribution(engine);
  for (double target : {.3, .5, .8})
    for (double start : {.2, 20.}) {
      AdaptiveClip clip(start, {.clip_target = target, .count_noise = 1});
      for (int t = 0; t < 400; ++t) {
        const auto within = std::ranges::count_if(norms, [&](double norm) { return norm <= clip.clip_norm(); });
        clip.adapt(static_cast<double>(within) - 500, 1000);
      }
      const auto within = std::ranges::count_if(norms, [&](double norm) { return norm <= clip.clip_norm(); });
      EXPECT_NEAR(static_cast<double>(within) / 1000, target, .01) << "from " << start;
    }
}

TEST(AdaptiveClip, BadOptionsAreRefused) {
  EXPECT_THROW(AdaptiveClip(1, {.clip_target = 1.5}), InputError);
  EXPECT_THROW(AdaptiveClip(1, {.count_noise = 0.}), InputError);
}

}  // namespace
}  // namespace fodp
