#include "fodp/mechanism/fractional.h"

#include <numeric>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/mechanism/gaussian.h"
#include "known_sum.h"
#include "mechanism/bench.h"
#include "mechanism/dense_fractional.h"

namespace fodp {
namespace {

using namespace fodp::testing;

FractionalParameters with(const FractionalOptions& options, double noise_norm = 1) { return resolve(options, 1, noise_norm); }

std::unique_ptr<FractionalMechanism> fractional(double sigma, const FractionalParameters& p) {
  return std::make_unique<FractionalMechanism>(sigma, p);
}

// All the choices that a test over every kernel goes through.
std::vector<FractionalOptions> varied_options() {
  std::vector<FractionalOptions> all;
  for (Kernel kernel : {Kernel::uniform, Kernel::exponential, Kernel::tempered, Kernel::confidence, Kernel::grunwald})
    for (std::int64_t origin : {0, 1}) {
      all.push_back({.kernel = kernel, .lag_origin = origin});
      all.push_back({.beta = .6,
                     .alpha = .3,
                     .window = 4,
                     .lambda = .2,
                     .tau = .7,
                     .gamma = .4,
                     .kappa = .5,
                     .zeta = ConfidenceScale{.value = 3},
                     .stability = .1,
                     .kernel = kernel,
                     .kernel_decay = .8,
                     .lag_origin = origin});
      all.push_back({.beta = .3, .window = 2, .kernel = kernel, .lag_origin = origin});
      all.push_back({.beta = .5, .window = 32, .tau = 3, .gamma = 1, .kernel = kernel, .lag_origin = origin});
    }
  return all;
}

TEST(Fractional, AgreesWithTheDenseAlgorithmWithoutNoise) {
  constexpr std::int64_t kSize = 300;
  for (const FractionalOptions& options : varied_options()) {
    const FractionalParameters p = with(options);
    Bench bench(fractional(0, p), kSize);
    DenseFractional dense(p);
    for (std::uint64_t t = 0; t < 40; ++t) {
      const GivenRows rows = random_rows(10, kSize, t);
      const Vector expected = dense.release(bench.sum(rows), Vector(kSize, 0.0));
      const auto actual = bench.release(rows);
      ASSERT_LT(distance(actual, expected), 1e-5)
          << "kernel " << enum_name(options.kernel) << ", origin " << options.lag_origin << ", step " << t;
    }
  }
}

// Under the same normals FO(sigma, beta) is a filter on DP-SGD(sigma/beta): docs/design.md, "Noise on the un-scaled sum".
TEST(Fractional, IsPostProcessedDpSgdUnderTheSameNormals) {
  constexpr std::int64_t kSize = 9000;  // two noise blocks
  for (const FractionalOptions& options : {FractionalOptions{}, FractionalOptions{.beta = .65, .tau = 1, .kernel = Kernel::grunwald}}) {
    const FractionalParameters p = with(options);
    Bench fo(fractional(1.1, p), kSize), plain(std::make_unique<GaussianMechanism>(1.1 / p.beta), kSize);
    DenseFractional dense(p);
    for (std::uint64_t t = 0; t < 12; ++t) {
      const GivenRows rows = random_rows(3, kSize, t);
      const auto y = plain.release(rows);
      const Vector expected = dense.release({y.begin(), y.end()}, Vector(kSize, 0.0));
      ASSERT_LT(distance(fo.release(rows), expected), 1e-4 * std::sqrt(kSize)) << "step " << t;
    }
  }
}

TEST(Fractional, BetaOneIsDpSgdBitForBit) {
  constexpr std::int64_t kSize = 20000;
  for (Kernel kernel : {Kernel::current, Kernel::uniform, Kernel::confidence, Kernel::grunwald}) {
    Bench fo(fractional(.8, with({.beta = 1, .kernel = kernel})), kSize), plain(std::make_unique<GaussianMechanism>(.8), kSize);
    for (std::uint64_t t = 0; t < 5; ++t) {
      const GivenRows rows = random_rows(2, kSize, t);
      ASSERT_EQ(fo.release(rows), plain.release(rows));
    }
  }
}

TEST(Fractional, WindowOneReleasesTheScaledSum) {
  Bench bench(fractional(0, with({.beta = .25, .window = 1})), 2);
  for (int t = 0; t < 3; ++t) EXPECT_EQ(bench.release({{.5f, .25f}}), (std::vector<float>{.125f, .0625f}));
}

TEST(Fractional, WindowTwoIsAnEmaWithoutBiasCorrection) {
  const double beta = .25;
  Bench bench(fractional(0, with({.beta = beta, .window = 2})), 1);
  double ema = 0;
  for (int t = 0; t < 30; ++t) {
    const float y = std::sin(t) / 2;
    ema = (1 - beta) * ema + beta * y;
    EXPECT_NEAR(bench.release({{y}})[0], ema, 0x1p-13);  // the grid of one parameter
  }
}

TEST(Fractional, SmallBetaIsMemoryOnly) {
  const FractionalParameters p = with({.beta = 1e-9, .window = 3, .kernel = Kernel::uniform});
  Bench bench(fractional(0, p), 1);
  for (int t = 0; t < 5; ++t) EXPECT_NEAR(bench.release({{1}})[0], 0, 1e-7);
}

TEST(Fractional, ThreadsChangeNothing) {
  constexpr std::int64_t kSize = 40000;
  std::vector<std::vector<float>> last;
  for (int threads : {1, 2}) {
    at::set_num_threads(threads);
    Bench bench(fractional(1, with({})), kSize);
    std::vector<float> values;
    for (std::uint64_t t = 0; t < 10; ++t) values = bench.release(random_rows(2, kSize, t));
    last.push_back(values);
  }
  EXPECT_EQ(last[0], last[1]);
}

// Theorem B.1: for any history, one record moves the query by at most beta*C.
TEST(Fractional, HistoryConditionedSensitivityIsAtMostBetaC) {
  constexpr std::int64_t kSize = 60;
  for (const FractionalOptions& options : varied_options()) {
    const FractionalParameters p = with(options);
    Bench with_record(fractional(0, p), kSize), without(fractional(0, p), kSize);
    for (std::uint64_t t = 0; t < 9; ++t) {  // a common history
      with_record.release(random_rows(5, kSize, t));
      without.release(random_rows(5, kSize, t));
    }
    GivenRows rows = random_rows(5, kSize, 77);
    const auto base = without.release(rows);
    rows.push_back(random_rows(1, kSize, 78, 50)[0]);
    const auto more = with_record.release(rows);
    const double moved = distance(more, {base.begin(), base.end()});
    EXPECT_LE(moved, p.beta * 1.0025 + 1e-6);
    EXPECT_GT(moved, .99 * p.beta);
  }
}

// Two-sided: the fresh noise of a release has standard deviation sigma*C, not sigma/beta or beta*sigma. 5 sigma of the estimate: a false
// alarm in 2e6 if the seed were free.
TEST(Fractional, FreshNoiseHasScaleSigma) {
  constexpr std::int64_t kSize = 100000;
  const double sigma = 1.3, beta = .5;
  Bench bench(fractional(sigma, with({.beta = beta})), kSize, 3);
  const auto first = bench.release({});  // no memory yet
  double squared = 0;
  for (float value : first) squared += double(value) * value;
  const double estimate = std::sqrt(squared / kSize), error = sigma / std::sqrt(2.0 * kSize);
  EXPECT_NEAR(estimate, sigma, 5 * error);
  EXPECT_GT(std::abs(estimate - sigma * beta), 20 * error);
  EXPECT_GT(std::abs(estimate - sigma / beta), 20 * error);
}

TEST(Fractional, PartsAddUpToTheRelease) {
  constexpr std::int64_t kSize = 500;
  for (const FractionalOptions& options : {FractionalOptions{}, FractionalOptions{.beta = .6, .window = 3, .kernel = Kernel::uniform}}) {
    auto mechanism = fractional(.7, with(options));
    FractionalMechanism& view = *mechanism;
    view.keep_insecure_parts();
    Bench bench(std::move(mechanism), kSize);
    for (std::uint64_t t = 0; t < 10; ++t) {
      const GivenRows rows = random_rows(4, kSize, t);
      const auto released = bench.release(rows);
      const Decomposition& parts = view.insecure_decomposition();
      Vector total(kSize);
      for (std::int64_t i = 0; i < kSize; ++i) total[i] = parts.signal[i] + parts.memory[i] + parts.noise_memory[i] + parts.noise[i];
      ASSERT_LT(distance(released, total), 1e-4) << t;
      Vector signal = bench.sum(rows);
      for (double& value : signal) value *= options.beta_schedule().first();
      ASSERT_LT(distance(std::vector<float>(parts.signal.begin(), parts.signal.end()), signal), 1e-4);
      const double inherited = std::accumulate(parts.noise_memory.begin(), parts.noise_memory.end(), 0.0);
      ASSERT_EQ(inherited != 0, t > 0);
      // The memory's share of the release, from the same parts.
      double memory = 0, whole = 0;
      for (std::int64_t i = 0; i < kSize; ++i) {
        memory += std::pow(parts.memory[i] + parts.noise_memory[i], 2);
        whole += std::pow(total[i], 2);
      }
      const Mechanism::InsecureParts norms = *view.insecure_parts();
      ASSERT_NEAR(norms.memory_ratio, std::sqrt(memory / whole), 1e-9);
      ASSERT_LE(norms.memory_depth, static_cast<double>(std::min<std::uint64_t>(t, options.window - 1)) + 1e-9);
    }
  }
}

// Empty lots release nothing but noise, so every coordinate is a sample of it. Five standard errors, at each of 3*12 steps: a false alarm
// in 5e4 if the seed were free.
TEST(Fractional, TheNoiseVarianceIsKnown) {
  constexpr std::int64_t kSize = 20000;
  for (const FractionalOptions& options : {FractionalOptions{.beta = .6, .window = 2}, FractionalOptions{.beta = .3, .window = 5},
                                           FractionalOptions{.beta = Schedule::linear(.9, .2), .window = 5, .kernel = Kernel::uniform}}) {
    const NoiseSchedule schedule{.noise_multiplier = 1.2, .beta = options.beta_schedule(), .steps = 12};
    auto mechanism = std::make_unique<FractionalMechanism>(schedule, with(options));
    mechanism->keep_noise_variance();
    Bench bench(std::move(mechanism), kSize);
    for (std::int64_t t = 0; t < 12; ++t) {
      bench.mechanism().begin_step(t, {});
      const Release release = bench.released({});
      ASSERT_TRUE(release.noise_variance());
      const double claimed = *release.noise_variance();
      if (t == 0) {
        EXPECT_NEAR(claimed, 1.2 * 1.2, 1e-12);
      }
      EXPECT_NEAR(mean_square(release.values()), claimed, claimed * five_errors(kSize)) << "step " << t;
    }
  }
}

TEST(Fractional, TheNoiseVarianceIsClaimedOnlyWhereItIsKept) {
  Bench kept_not(fractional(1, with({})), 4), no_memory(fractional(1, with({.beta = 1})), 4);
  EXPECT_FALSE(kept_not.released({}).noise_variance());
  EXPECT_EQ(no_memory.released({}).noise_variance(), 1);
  auto late = std::make_unique<FractionalMechanism>(1, with({}));
  FractionalMechanism& view = *late;
  Bench bench(std::move(late), 4);
  bench.released({});
  EXPECT_THROW(view.keep_noise_variance(), InputError);
}

// K = 2: u = S_{t-1}, shrunk by max(0, 1 - d*v/|u|^2); v_0 = sigma^2, v_1 = sigma^2 + ((1-beta)*factor)^2*v_0.
TEST(Fractional, ShrinkingByHand) {
  constexpr std::int64_t kSize = 3;
  const double sigma = .4, beta = .5;
  Bench shrinking(fractional(sigma, with({.beta = beta, .window = 2, .denoise = Denoise::shrink})), kSize);
  Bench plain(std::make_unique<GaussianMechanism>(sigma / beta), kSize);
  const GivenRows rows(6, {.5f, -.5f, .5f});
  std::vector<float> last(kSize, 0);
  double variance = 0, smallest = 1;
  for (int t = 0; t < 8; ++t) {
    const double squared = kSize * mean_square(last), factor = t == 0 ? 0 : std::max(0.0, 1 - kSize * variance / squared);
    const auto y = plain.release(rows);
    Vector expected;
    for (std::int64_t i = 0; i < kSize; ++i) expected.push_back(beta * y[i] + (1 - beta) * factor * last[i]);
    last = shrinking.release(rows);
    ASSERT_LT(distance(last, expected), 1e-5) << t;
    variance = sigma * sigma + std::pow((1 - beta) * factor, 2) * variance;
    if (t > 0) smallest = std::min(smallest, factor);
  }
  EXPECT_GT(smallest, .5);
  EXPECT_LT(smallest, .99) << "something was shrunk";
}

// |u|^2 of pure noise is d*v up to sqrt(2/d): what is left is within five of that, a false alarm in 2e6.
TEST(Fractional, ShrinkingLeavesAlmostNothingOfPureNoise) {
  constexpr std::int64_t kSize = 20000;
  Bench shrinking(fractional(1, with({.beta = .5, .denoise = Denoise::shrink})), kSize);
  Bench plain(std::make_unique<GaussianMechanism>(2), kSize);
  for (int t = 0; t < 6; ++t) {
    const auto y = plain.release({});
    Vector fresh(y.begin(), y.end());
    for (double& value : fresh) value *= .5;
    const double memory = distance(shrinking.release({}), fresh);
    EXPECT_LE(memory, .5 * five_errors(kSize) * std::sqrt(1.5 * kSize)) << t;
  }
}

TEST(Fractional, ShrinkingLeavesAStrongSignal) {
  constexpr std::int64_t kSize = 100;
  const FractionalOptions options{.beta = .5, .window = 4};
  FractionalOptions shrunk = options;
  shrunk.denoise = Denoise::shrink;
  Bench shrinking(fractional(.01, with(shrunk)), kSize), plain(fractional(.01, with(options)), kSize);
  const GivenRows rows(50, random_rows(1, kSize, 1)[0]);
  for (int t = 0; t < 10; ++t) {
    const auto a = shrinking.release(rows), b = plain.release(rows);
    EXPECT_LT(distance(a, {b.begin(), b.end()}), 1e-3 * std::sqrt(kSize * mean_square(b))) << t;
  }
}

}  // namespace
}  // namespace fodp
