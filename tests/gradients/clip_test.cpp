#include "fodp/gradients/clip.h"

#include <condition_variable>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "clipping.h"
#include "fodp/base/check.h"
#include "fodp/gradients/linear.h"
#include "fodp/noise/lattice.h"
#include "known_sum.h"

namespace fodp {
namespace {

using namespace fodp::testing;

static_assert(!std::is_copy_constructible_v<ClippedSum> && !std::is_default_constructible_v<ClippedSum>);
static_assert(std::is_move_constructible_v<ClippedSum>);

double length(const std::vector<float>& values) {
  double squared = 0;
  for (float value : values) squared += double(value) * value;
  return std::sqrt(squared);
}

TEST(ClipFactor, FlatShortensOnlyWhatIsTooLong) {
  const ClipSettings options{.clip_norm = 2};
  EXPECT_EQ(clip_factor(0, options), 1);
  EXPECT_EQ(clip_factor(2, options), 1);
  EXPECT_EQ(clip_factor(8, options), .25);
}

TEST(ClipFactor, AutomaticScalesEverything) {
  const ClipSettings options{.clip_norm = 2, .clipping = "automatic"};
  EXPECT_FLOAT_EQ(clip_factor(.99, options), 2);
  EXPECT_FLOAT_EQ(clip_factor(0, options), 200);
}

TEST(ClipFactor, NeverLeavesMoreThanTheClipNorm) {
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<double> exponent(-8, 8);
  for (int i = 0; i < 20000; ++i) {
    const double norm = std::exp(exponent(engine));
    for (const char* clipping : {"flat", "automatic"})
      ASSERT_LE(norm * clip_factor(norm, {.clip_norm = .7, .clipping = clipping}), .7 * (1 + 1e-15)) << norm;
  }
}

TEST(Clipper, SumByHand) {
  KnownSum known(2, {.clip_norm = 5});
  // (3,4) has norm 5 and stays; (6,8) is halved; (0,1) stays.
  EXPECT_EQ(opened(known.of({{3, 4}, {6, 8}, {0, 1}})), (std::vector<float>{6, 9}));
}

// Automatic clipping, R*g/(|g|+.01) (docs/methods.md, "Stages"), is R*g/|g| up to .01/(|g|+.01) of R.
TEST(Clipper, AutomaticClippingOfLongGradientsIsFlatClipping) {
  constexpr std::int64_t kSize = 30;
  for (double clip_norm : {.5, 2.}) {
    const GivenRows rows = random_rows(80, kSize, 4, 3);
    double allowed = clip_norm * 0x1p-12;  // the grid, twice
    for (const auto& row : rows) {
      ASSERT_GT(length(row), clip_norm);
      allowed += clip_norm * .01 / (length(row) + .01);
    }
    auto flat = opened(KnownSum(kSize, {.clip_norm = clip_norm}).of(rows));
    const auto automatic = opened(KnownSum(kSize, {.clip_norm = clip_norm, .clipping = "automatic"}).of(rows));
    for (std::size_t k = 0; k < flat.size(); ++k) flat[k] -= automatic[k];
    EXPECT_LE(length(flat), allowed);
    EXPECT_GT(length(flat), 0);
  }
}

TEST(Clipper, AnEmptyLotIsZero) {
  KnownSum known(3);
  EXPECT_EQ(opened(known.of({})), (std::vector<float>{0, 0, 0}));
}

TEST(Clipper, CarriesItsSensitivityRateAndSlack) {
  KnownSum known(3, {.clip_norm = 2.5});
  const ClippedSum sum = known.of({{1, 2, 3}}, .25);
  EXPECT_EQ(sum.sensitivity(), 2.5);
  EXPECT_EQ(sum.sample_rate(), .25);
  EXPECT_EQ(sum.slack(), sensitivity_slack(2.5, 3, 128));
}

TEST(Clipper, AnExampleThatIsNotFiniteContributesZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  KnownSum known(2, {.clip_norm = 10});
  for (float bad : {nan, inf, -inf}) EXPECT_EQ(opened(known.of({{1, 2}, {bad, 0}, {3, 4}, {0, bad}})), (std::vector<float>{4, 6})) << bad;
}

// The gradient of one row of inputs `a` and output gradients `b`, [positions, features], as it is clipped.
double clipped_length(const at::Tensor& a, const at::Tensor& b, double clip_norm) {
  nn::Linear layer(torch::nn::LinearOptions(a.size(1), b.size(1)).bias(false));
  FlatParameters flat(*layer);
  std::ranges::fill(flat.values(), 0.0f);
  const TestClipper clipper(
      *layer, flat,
      [&](const at::Tensor& x, const at::Tensor& y) {
        return (layer->forward(x) * y).sum(at::IntArrayRef({1, 2}));
      },
      {.clip_norm = clip_norm}, 128);
  return length(opened(clipper.clipped_sum({{0}}, 1, [&](std::span<const std::int64_t>) {
    return Batch{a.unsqueeze(0), b.unsqueeze(0)};
  })));
}

TEST(Clipper, AHugeGradientIsClippedNotLost) {
  EXPECT_NEAR(clipped_length(at::ones({1, 1}), at::full({1, 1}, 3e38), 1), 1, 1e-4);
  EXPECT_NEAR(clipped_length(at::full({1, 1}, 1e9), at::full({1, 1}, 3e29), 1), 1, 1e-4);
}

// The clipped output gradient is .5006 of the smallest float and would be rounded to all of it: 1.9976 clip norms. The shapes are those of
// the product of norms, of the ghost form and of the gradient that is formed.
TEST(Clipper, HugeInputsCannotExceedTheClipNormBySubnormalRounding) {
  for (const double huge : {0x1p30, 2e38})
    for (const auto& [positions, in, out] : {std::tuple{1, 1, 1}, {2, 40, 40}, {9, 2, 2}}) {
      at::Tensor a = at::zeros({positions, in}), b = at::zeros({positions, out});
      a[0][0] = huge;
      b[0][0] = 0x1p-60;
      const double clip_norm = std::max(0x1p-40, .5006 * 0x1p-149 * huge);
      EXPECT_EQ(clipped_length(a, b, clip_norm), 0) << huge << ", " << positions << " positions";
    }
}

TEST(Clipper, ARowOfHugeInputsLeavesTheOthersAlone) {
  KnownSum known(2, {.clip_norm = 10});
  EXPECT_EQ(opened(known.of({{1, 2}, {2e38f, 0}, {3, 4}, {0, 0x1p30f}})), (std::vector<float>{4, 6}));
}

TEST(Clipper, BlocksAndThreadsChangeNothingInTheInteger) {
  const GivenRows rows = random_rows(300, 40, 1);
  at::set_num_threads(1);
  const auto one = opened(KnownSum(40, {}, 32).of(rows));
  at::set_num_threads(2);
  const auto two = opened(KnownSum(40, {}, 32).of(rows));
  EXPECT_EQ(one, two);
  const auto other_blocks = opened(KnownSum(40, {}, 7).of(rows));
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other_blocks[i], 1e-4);
}

TEST(Clipper, TwoThreadsWork) {
  at::set_num_threads(2);
  nn::Linear layer(4, 1);
  FlatParameters flat(*layer);
  std::mutex mutex;
  std::condition_variable another;
  std::set<std::thread::id> seen;
  bool waits = true;
  const testing::TestClipper clipper(
      *layer, flat, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).squeeze(1); }, {}, 8);
  Blocks blocks(16);
  for (std::int64_t i = 0; i < 128; ++i) blocks[i / 8].push_back(i);
  clipper.clipped_sum(blocks, 1, [&](std::span<const std::int64_t> rows) {
    if (rows.size() == 8) {  // a block; the clipper also looks at one row by itself before the threads start
      std::unique_lock lock(mutex);
      seen.insert(std::this_thread::get_id());
      another.notify_all();
      // The first waits for the second, a minute at most, so that a busy machine does not fail the test.
      waits = waits && another.wait_for(lock, std::chrono::minutes(1), [&] { return seen.size() == 2; });
    }
    return Batch{at::ones({static_cast<std::int64_t>(rows.size()), 4}), at::Tensor()};
  });
  EXPECT_EQ(seen.size(), 2u);
}

// The guarantee itself: with any one record added, the sum moves by at most C(1 + slack).
TEST(Clipper, OneRecordMovesTheSumByAtMostTheSensitivity) {
  constexpr std::int64_t kSize = 50;
  for (double clip_norm : {1.0, .3, 17.0}) {
    KnownSum known(kSize, {.clip_norm = clip_norm});
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      GivenRows rows = random_rows(100, kSize, seed, 10);
      const auto before = opened(known.of(rows));
      rows.push_back(random_rows(1, kSize, 1000 + seed, 100)[0]);
      auto after = opened(known.of(rows));
      for (std::int64_t k = 0; k < kSize; ++k) after[k] -= before[k];
      EXPECT_LE(length(after), clip_norm * (1 + sensitivity_slack(clip_norm, kSize, 128)) + 1e-5 * clip_norm);
      EXPECT_GT(length(after), .99 * clip_norm);
    }
  }
}

TEST(Clipper, ABlockLargerThanAnnouncedIsRefusedWithoutItsSize) {
  nn::Linear layer(1, 1);
  FlatParameters flat(*layer);
  const testing::TestClipper clipper(
      *layer, flat, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).squeeze(1); }, {}, 2);
  try {
    clipper.clipped_sum({{0, 1, 2, 3, 4, 5, 6}}, 1, [](std::span<const std::int64_t> rows) {
      return Batch{at::ones({static_cast<std::int64_t>(rows.size()), 1}), at::Tensor()};
    });
    FAIL();
  } catch (const PrivacyError& error) {
    EXPECT_EQ(std::string(error.what()).find('7'), std::string::npos) << error.what();
  }
}

TEST(Clipper, ARowThatComesTwiceIsRefused) {
  nn::Linear layer(1, 1);
  FlatParameters flat(*layer);
  const testing::TestClipper clipper(
      *layer, flat, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).squeeze(1); }, {}, 8);
  const Gather gather = [](std::span<const std::int64_t> rows) {
    return Batch{at::ones({static_cast<std::int64_t>(rows.size()), 1}), at::Tensor()};
  };
  EXPECT_THROW(clipper.clipped_sum({{0, 1, 1}}, 1, gather), PrivacyError);
  EXPECT_THROW(clipper.clipped_sum({{0, 1}, {1}}, 1, gather), PrivacyError);
  EXPECT_NO_THROW(clipper.clipped_sum({{0, 1}, {2}}, 1, gather));
}

TEST(Clipper, OptionsOutOfRangeAreRefused) {
  EXPECT_THROW(KnownSum(2, {.clip_norm = 0}), InputError);
  EXPECT_THROW(KnownSum(2, {.clip_norm = -1}), InputError);
  EXPECT_THROW(KnownSum(2, {.clip_norm = std::numeric_limits<double>::infinity()}), InputError);
  EXPECT_THROW(KnownSum(2, {}, 0), InputError);
}

// One row whose positions cancel: its gradient is zero, the numbers that pass through the sum are not. It must not drown the other rows,
// nor add more than a rounding error itself.
TEST(Clipper, PositionsThatCancelNeitherDrownOtherRowsNorExceedTheClipNorm) {
  torch::manual_seed(3);
  for (const double size : {1e3, 1e4, 1e6, 1.7e9})
    for (const std::int64_t positions : {2, 33}) {
      nn::Linear layer(8, 8);
      FlatParameters flat(*layer);
      at::Tensor inputs = at::randn({32, positions, 8}), signs = at::randn({32, positions, 8});
      inputs[31].copy_(at::randn({1, 8}).expand({positions, 8}) * size);
      signs[31].copy_((signs[31] - signs[31].mean(0, true)) * size);
      const testing::TestClipper clipper(
          *layer, flat,
          [&](const at::Tensor& x, const at::Tensor& b) {
            return (layer->forward(x) * b).sum(at::IntArrayRef({1, 2}));
          },
          {}, 128);
      const auto sum = [&](std::int64_t rows) {
        Blocks blocks(1);
        for (std::int64_t i = 0; i < rows; ++i) blocks[0].push_back(i);
        return opened(clipper.clipped_sum(blocks, 1, [&](std::span<const std::int64_t> chosen) {
          const auto count = static_cast<std::int64_t>(chosen.size());
          return Batch{inputs.slice(0, 0, count), signs.slice(0, 0, count)};
        }));
      };
      const auto with = sum(32), without = sum(31);
      std::vector<float> moved(with.size());
      for (std::size_t k = 0; k < with.size(); ++k) moved[k] = with[k] - without[k];
      EXPECT_LE(length(moved), 1 + 2e-3) << size << ", " << positions << " positions";
    }
}

}  // namespace
}  // namespace fodp
