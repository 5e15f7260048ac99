#include "fodp/update/momentum.h"

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

std::vector<float> after(const MomentumOptions& options, const std::vector<float>& sums, double lot, double lr) {
  Momentum momentum(options);
  std::vector<float> theta = {1}, all;
  for (float sum : sums) {
    momentum.apply(theta, {std::span(&sum, 1), lot, {}}, lr);
    all.push_back(theta[0]);
  }
  return all;
}

// g = 1, 3: m = .5, 1.75 over 1-mu^t = .5, .75.
TEST(Momentum, EmaByHand) {
  const auto theta = after({.momentum = .5}, {4, 12}, 4, .3);
  EXPECT_FLOAT_EQ(theta[0], 1 - .3 * 1);
  EXPECT_NEAR(theta[1], 1 - .3 * 1 - .3 * 1.75 / .75, 1e-7);
}

// v = 1, 3.5.
TEST(Momentum, HeavyBallByHand) {
  const auto theta = after({.momentum = .5, .momentum_form = MomentumForm::heavy_ball}, {4, 12}, 4, .3);
  EXPECT_FLOAT_EQ(theta[0], 1 - .3 * 1);
  EXPECT_FLOAT_EQ(theta[1], 1 - .3 * 1 - .3 * 3.5);
}

TEST(Momentum, EmaOfAConstantIsThatConstantFromTheFirstStepOn) {
  const auto theta = after({.momentum = .9}, {2, 2, 2, 2, 2, 2}, 1, .01);
  for (std::size_t t = 0; t < theta.size(); ++t) EXPECT_NEAR(theta[t], 1 - .02 * (double(t) + 1), 1e-6);
}

TEST(Momentum, WithoutMomentumBothFormsAreSgd) {
  for (MomentumForm form : {MomentumForm::ema, MomentumForm::heavy_ball}) {
    const auto theta = after({.momentum = 0, .momentum_form = form}, {2, -1}, 2, .5);
    EXPECT_FLOAT_EQ(theta[0], .5);
    EXPECT_FLOAT_EQ(theta[1], .75);
  }
}

TEST(Momentum, EachParameterHasItsOwn) {
  Momentum momentum(MomentumOptions{.momentum = .5, .momentum_form = MomentumForm::heavy_ball});
  std::vector<float> theta = {0, 0};
  momentum.apply(theta, {std::vector<float>{1, 0}, 1, {}}, 1);
  momentum.apply(theta, {std::vector<float>{0, 1}, 1, {}}, 1);
  EXPECT_EQ(theta, (std::vector<float>{-1.5f, -1}));
}

TEST(Momentum, BadInputIsRefused) {
  EXPECT_THROW(Momentum({.momentum = 1}), InputError);
  std::vector<float> theta = {0, 0};
  EXPECT_THROW(Momentum({}).apply(theta, {std::vector<float>{1}, 1, {}}, 1), InputError);
}

}  // namespace
}  // namespace fodp
