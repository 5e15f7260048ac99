// The bounded numbers that clipping makes besides the sum: count, total of norms, change of the loss.
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "clipping.h"
#include "fodp/base/check.h"
#include "known_sum.h"

namespace fodp {
namespace {

using namespace fodp::testing;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

double row_norm(const std::vector<float>& row) {
  double squared = 0;
  for (float value : row) squared += double(value) * value;
  return std::sqrt(squared);
}

double count(const KnownSum& known, const GivenRows& rows) { return opened_release(known.of(rows, 1, {.count_noise = 1})).scalar("count"); }

TEST(Count, IsHalfOfUnclippedMinusClipped) {
  KnownSum known(2, {.clip_norm = 5}, 3);
  EXPECT_EQ(count(known, {}), 0);
  EXPECT_EQ(count(known, {{3, 4}}), .5) << "at the clip norm a row is not clipped";
  EXPECT_EQ(count(known, {{3, 4}, {6, 8}}), 0);
  EXPECT_EQ(count(known, {{0, 0}, {1, 0}, {3, 4.001f}, {100, 0}, {0, 2}, {0, 1}, {9, 9}}), .5);
  EXPECT_EQ(count(known, {{kNan, 0}, {0, kInfinity}}), -1) << "a row that is not finite is not within";
}

// Adaptive clipping moves the rule's clip norm between sums: the next sum is clipped to, counted by and charged for the new one.
TEST(Count, IsOfTheClipNormThatTheRuleHasNow) {
  nn::Linear layer(torch::nn::LinearOptions(1, 1).bias(false));
  FlatParameters flat(*layer);
  AdaptiveClip rule(5, {.clip_rate = 1, .count_noise = 1});
  const Clipper clipper(
      *layer, flat, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).squeeze(1); }, rule, GroupClip::whole, 8);
  const Gather gather = [](std::span<const std::int64_t> rows) { return Batch{at::ones({std::ssize(rows), 1}).mul(2), at::Tensor()}; };
  const auto sum = [&] { return clipper.clipped_sum({{{0, 1, 2}}, Draw(), gather}); };
  EXPECT_EQ(opened_release(sum()).scalar("count"), 1.5);
  EXPECT_EQ(sum().sensitivity(), 5);
  rule.adapt(.5, 1);  // none was clipped: down to 5*exp(-.5)
  rule.adapt(.5, 1);
  EXPECT_NEAR(sum().sensitivity(), 5 * std::exp(-1), 1e-12);
  EXPECT_EQ(opened_release(sum()).scalar("count"), -1.5);
  EXPECT_NEAR(opened_release(sum()).values()[0], 3 * 5 * std::exp(-1), 1e-3);
}

TEST(Count, ComesOnlyWhenAskedFor) {
  KnownSum known(1);
  EXPECT_TRUE(known.of({{1}}).scalars().empty());
  const ClippedSum sum = known.of({{1}}, 1, {.count_noise = 3});
  ASSERT_EQ(sum.scalars().size(), 1u);
  EXPECT_EQ(sum.scalars()[0].sensitivity, .5);
  EXPECT_EQ(sum.scalars()[0].noise_multiplier, 3);
}

double norm_total(const KnownSum& known, const GivenRows& rows) {
  return opened_release(known.norm_total(rows, 1, 0)).scalar("norm_total");
}

TEST(NormTotal, IsTheSumOfClippedNormsToTheGridAndNeverAbove) {
  for (double clip_norm : {.7, 1., 6.}) {
    KnownSum known(20, {.clip_norm = clip_norm}, 16);
    for (double scale : {.01, .3, 2.}) {
      const GivenRows rows = random_rows(100, 20, 5, scale);
      double exact = 0;
      for (const auto& row : rows) exact += std::min(clip_norm, row_norm(row));
      const double total = norm_total(known, rows);
      EXPECT_LE(total, exact * (1 + 1e-12));
      EXPECT_GE(total, exact - 100 * clip_norm * (0x1p-20 + 0x1p-23));
    }
  }
}

TEST(NormTotal, OneRowMovesItByAtMostTheClipNorm) {
  for (double clip_norm : {.3, 1., 1 / 3.}) {
    KnownSum known(3, {.clip_norm = clip_norm});
    GivenRows rows = random_rows(30, 3, 9);
    for (const std::vector<float>& row :
         GivenRows{{0, 0, 0}, {1e-30f, 0, 0}, {.1f, .1f, .1f}, {3e8f, 3e8f, 0}, {3e38f, 3e38f, 0}, {kNan, 0, 0}, {kInfinity, 1, 1}}) {
      const double before = norm_total(known, rows);
      rows.push_back(row);
      const double moved = norm_total(known, rows) - before;
      EXPECT_GE(moved, 0);
      EXPECT_LE(moved, clip_norm);
      const bool counts = row_norm(row) < 0x1p30;  // huge rows count as those that are not finite
      if (!counts) {
        EXPECT_EQ(moved, 0);
      }
      if (counts && row_norm(row) > 1) {
        EXPECT_GT(moved, clip_norm * (1 - 2e-6));
      }
    }
  }
}

TEST(NormTotal, IsANumberByItself) {
  KnownSum known(3, {.clip_norm = 2});
  const ClippedSum sum = known.norm_total({{1, 2, 3}}, .25, 4);
  EXPECT_EQ(sum.size(), 0);
  EXPECT_EQ(sum.slack(), 0);
  EXPECT_EQ(sum.sample_rate(), .25);
  ASSERT_EQ(sum.scalars().size(), 1u);
  EXPECT_EQ(sum.scalars()[0].sensitivity, 2);
  EXPECT_EQ(sum.scalars()[0].noise_multiplier, 4);
}

// The loss of a row is <w, x>.
class LossChange : public ::testing::Test {
 protected:
  LossChange() { set({1, 2, -1}); }
  void set(const std::vector<float>& w) { std::ranges::copy(w, known.parameters().values().begin()); }
  double change(const GivenRows& rows, double lot, double bound) {
    return opened_release(known.loss_change(rows, 1, before, lot, bound, 0)).scalar("loss_change");
  }

  KnownSum known{3, {}, 4};
  std::vector<float> before = {.5f, 2, 0};  // now minus before: .5, 0, -1
};

TEST_F(LossChange, IsTheMeanDifferenceInsideTheBound) {
  EXPECT_EQ(change({}, 5, 1), 0);
  EXPECT_NEAR(change({{1, 7, 0}, {1, 7, 2}}, 5, 1), (.5 + .5 - 2) / 5, 2 * 0x1p-20);
  const GivenRows rows = random_rows(50, 3, 2, .1);
  double exact = 0;
  for (const auto& row : rows) exact += .5 * row[0] - row[2];
  EXPECT_NEAR(change(rows, 40, 3), exact / 40, 6 * 0x1p-20);
}

TEST_F(LossChange, IsClippedOutside) {
  EXPECT_EQ(change({{100, 0, 0}}, 1, .5), .5);
  EXPECT_EQ(change({{-100, 0, 0}}, 1, .5), -.5);
  EXPECT_NEAR(change({{100, 0, 0}, {-100, 0, .25f}}, 1, .5), -.25, 0x1p-20) << "as a whole, not row by row";
}

TEST_F(LossChange, ALossThatIsNotFiniteIsAChangeForTheWorse) {
  EXPECT_EQ(change({{kNan, 0, 0}}, 1, .5), .5);
  EXPECT_EQ(change({{1, 0, 0}, {kInfinity, 0, 0}}, 1, .5), .5) << "infinite before and after";
  set({kInfinity, 0, 0});
  EXPECT_EQ(change({{1, 0, 0}}, 1, .5), .5) << "infinite now";
  set({1, 0, 0});
  before = {kInfinity, 0, 0};
  EXPECT_EQ(change({{1, 0, 0}}, 1, .5), -.5) << "no longer infinite";
}

TEST_F(LossChange, AnyRowMovesItByAtMostTwiceTheBound) {
  for (double bound : {.3, 1., 1 / 3.}) {
    const ClippedSum sum = known.loss_change({}, 1, before, 5, bound, 2);
    EXPECT_EQ(sum.size(), 0);
    ASSERT_EQ(sum.scalars().size(), 1u);
    EXPECT_EQ(sum.scalars()[0].sensitivity, 2 * bound);
    EXPECT_LE(change({{1e30f, 0, 0}}, 1, bound) - change({{-1e30f, 0, 0}}, 1, bound), 2 * bound);
  }
}

TEST_F(LossChange, TheParametersAreRestoredExactly) {
  const std::vector<float> now = {.1f, -3e-30f, 7};
  set(now);
  change({{1, 2, 3}}, 1, 1);
  EXPECT_TRUE(std::ranges::equal(known.parameters().values(), now));
}

TEST_F(LossChange, AnotherModelsParametersAreRefused) {
  EXPECT_THROW(known.loss_change({}, 1, std::vector<float>{1}, 1, 1, 0), InputError);
}

TEST(LossChangeThatIsRefused, TheParametersAreRestoredExactly) {
  for (int failing : {1, 2}) {  // at the present parameters; at those before
    nn::Linear layer(torch::nn::LinearOptions(2, 1).bias(false));
    FlatParameters flat(*layer);
    std::ranges::copy(std::vector<float>{.1f, .7f}, flat.values().begin());
    int calls = 0;
    const testing::TestClipper clipper(
        *layer, flat,
        [&](const at::Tensor& x, const at::Tensor&) {
          if (++calls == failing) throw PrivacyError("no loss");
          return layer->forward(x).squeeze(1);
        },
        {}, 8);
    const Gather gather = [](std::span<const std::int64_t> rows) {
      return Batch{at::ones({static_cast<std::int64_t>(rows.size()), 2}), at::Tensor()};
    };
    EXPECT_THROW(clipper.loss_change({{0, 1}}, 1, gather, std::vector<float>{5, 6}, 1, 1, 0), PrivacyError);
    EXPECT_EQ(calls, failing);
    EXPECT_EQ(flat.values()[0], .1f);
    EXPECT_EQ(flat.values()[1], .7f);
  }
}

// A user's loss may be a column of a wider tensor, or one number that was expanded: the values are read, not what lies beside them.
TEST(Losses, NeedNotLieSideBySide) {
  nn::Linear layer(torch::nn::LinearOptions(1, 2));
  FlatParameters flat(*layer);
  const at::Tensor inputs = at::arange(1, 7).to(at::kFloat).view({6, 1});
  const RowLosses column = [&](const Tensors& x, const at::Tensor&) { return layer->forward(x).square().select(1, 1); };
  const RowLosses whole = [&](const Tensors& x, const at::Tensor&) { return layer->forward(x).square().select(1, 1).contiguous(); };
  const RowLosses expanded = [&](const Tensors& x, const at::Tensor&) { return layer->forward(x).square().mean().expand({x.rows()}); };
  const auto losses = [&](const RowLosses& of) {
    return TestClipper(*layer, flat, of, {.clip_norm = 1}, 8).insecure_rows({inputs, at::Tensor()}).losses;
  };
  EXPECT_EQ(losses(column), losses(whole));
  const std::vector<double> same = losses(expanded);
  EXPECT_EQ(same, std::vector<double>(6, same.front()));
}

}  // namespace
}  // namespace fodp
