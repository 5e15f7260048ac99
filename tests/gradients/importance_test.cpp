// DP-IS: rows kept in proportion to their clipped norm, then all of one length.
#include <cmath>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/noise/lattice.h"
#include "known_sum.h"

namespace fodp {
namespace {

using namespace fodp::testing;

// Row i lies along axis i, so that each coordinate of the sum is one row's.
GivenRows along_axes(const std::vector<float>& norms) {
  GivenRows rows(norms.size(), std::vector<float>(norms.size(), 0));
  for (std::size_t i = 0; i < norms.size(); ++i) rows[i][i] = norms[i];
  return rows;
}

ClipRequest request(double length, std::function<double(std::int64_t)> chance) {
  return {.importance = Importance{length, std::move(chance)}};
}

const std::vector<float> kNorms = {.25f, 2, .5f, 1e-12f, 40, 0, 1.9f};
constexpr double kClip = 2, kLength = .75;

std::vector<float> sum_at(double chance) {
  KnownSum known(static_cast<std::int64_t>(kNorms.size()), {.clip_norm = kClip}, 3);
  return opened(known.of(along_axes(kNorms), 1, request(kLength, [chance](std::int64_t) { return chance; })));
}

void expect_kept(double chance, const std::vector<bool>& kept) {
  const std::vector<float> sum = sum_at(chance);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], kept[i] ? kLength : 0, kLength * 0x1p-12) << i << " at " << chance;
}

TEST(Importance, AtChanceZeroEveryRowCountsWithTheLength) { expect_kept(0, {true, true, true, true, true, false, true}); }

TEST(Importance, ARowIsKeptBelowItsShareOfTheClipNorm) {
  expect_kept(.1, {true, true, true, false, true, false, true});
  expect_kept(.2, {false, true, true, false, true, false, true});
  expect_kept(.26, {false, true, false, false, true, false, true});
}

TEST(Importance, AtChanceNearOneOnlyRowsOfTheClipNormAreKept) {
  expect_kept(1 - 1e-6, {false, true, false, false, true, false, false});
  expect_kept(1, std::vector<bool>(7, false));
}

TEST(Importance, EachRowHasItsOwnChance) {
  KnownSum known(5, {.clip_norm = 1}, 3);  // the second block starts with an odd row
  const auto sum =
      opened(known.of(along_axes({.5f, .5f, .5f, .5f, .5f}), 1, request(1, [](std::int64_t row) { return row % 2 ? .4 : .6; })));
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(sum[i], i % 2, 1e-3) << i;
}

TEST(Importance, TheLengthIsTheSensitivity) {
  KnownSum known(3, {.clip_norm = 2});
  const ClippedSum sum = known.of({}, 1, request(.75, [](std::int64_t) { return 0.; }));
  EXPECT_EQ(sum.sensitivity(), .75);
  EXPECT_EQ(sum.slack(), sensitivity_slack(.75, 3, 128));
}

TEST(Importance, OneRecordMovesTheSumByAtMostTheLength) {
  constexpr std::int64_t kSize = 30;
  KnownSum known(kSize, {.clip_norm = 2});
  const ClipRequest all = request(kLength, [](std::int64_t) { return 0.; });
  for (double scale : {1e-20, 1e-3, 1., 1e6, 1e8}) {
    GivenRows rows = random_rows(20, kSize, 1);
    const auto before = opened(known.of(rows, 1, all));
    rows.push_back(random_rows(1, kSize, 2, scale)[0]);
    const auto after = opened(known.of(rows, 1, all));
    double squared = 0;
    for (std::int64_t i = 0; i < kSize; ++i) squared += std::pow(double(after[i]) - before[i], 2);
    EXPECT_LE(std::sqrt(squared), kLength * (1 + sensitivity_slack(kLength, kSize, 128) + 1e-6)) << scale;
    EXPECT_GT(std::sqrt(squared), .99 * kLength) << scale;
  }
}

TEST(Importance, ARowThatIsNotFiniteIsNotKept) {
  KnownSum known(2, {.clip_norm = 2});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto sum = opened(known.of({{nan, 0}, {0, 1}, {inf, inf}}, 1, request(1, [](std::int64_t) { return 0.; })));
  EXPECT_EQ(sum, (std::vector<float>{0, 1}));
}

}  // namespace
}  // namespace fodp
