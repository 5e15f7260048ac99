#include "fodp/mechanism/spectral.h"

#include <limits>
#include <random>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/mechanism/gaussian.h"
#include "mechanism/bench.h"
#include "methods/plain/release.h"

namespace fodp {
namespace {

using namespace fodp::testing;

struct Choice {
  FractionalOptions memory;
  SpectralOptions spectral;

  double beta() const { return memory.beta_schedule().first(); }
  plain::Settings settings() const {
    return {.beta = beta(),
            .alpha = memory.alpha,
            .window = memory.window,
            .gamma = memory.gamma,
            .rho_min = spectral.rho_min,
            .rho_max = spectral.rho_max,
            .spectral_rate = spectral.spectral_tempering,
            .gate_max = spectral.norm_cap,
            .warmup = spectral.warm_up,
            .gate_stability = memory.stability.value_or(1e-8),
            .spectral_every = spectral.spectral_every};
  }
};

std::vector<Choice> varied_choices() {
  const SpectralOptions strict = {.rho_min = 3, .rho_max = 3.1, .spectral_tempering = 2, .spectral_every = 3, .norm_cap = .7, .warm_up = 2};
  return {{{}, {.warm_up = 5}},
          {{.beta = .6, .alpha = .3, .window = 4, .gamma = .4, .stability = .1}, strict},
          {{.beta = .3, .window = 2, .gamma = 1}, strict},
          {{.beta = .5, .window = 1}, strict},
          {{.beta = .4, .window = 32}, {.spectral_tempering = 0, .norm_cap = 3, .warm_up = .1}}};
}

// Two matrices with biases and a layer without a matrix: 7x9+7, 8x6+8, 14.
constexpr std::int64_t kSize = 140;
std::vector<LayerGroup> small_layers() { return {{"a", 0, 70, 0, 7, 9}, {"b", 70, 126, 70, 8, 6}, {"c", 126, 140}}; }

std::unique_ptr<SpectralMechanism> spectral(double sigma, const Choice& choice, std::vector<LayerGroup> layers = small_layers()) {
  const NoiseSchedule schedule{.noise_multiplier = sigma, .beta = choice.memory.beta_schedule(), .steps = 100};
  return std::make_unique<SpectralMechanism>(schedule, choice.memory, choice.spectral, std::move(layers));
}

// All layers by the plain form.
class PlainSpectral {
 public:
  PlainSpectral(const Choice& choice, const std::vector<LayerGroup>& layers) {
    for (const LayerGroup& layer : layers) {
      groups_.push_back({static_cast<std::size_t>(layer.begin), static_cast<std::size_t>(layer.end - layer.begin),
                         static_cast<std::size_t>(layer.rows), static_cast<std::size_t>(layer.columns)});
      states_.emplace_back(choice.settings(), groups_.back());
    }
  }

  Vector release(const Vector& sum, const std::vector<float>& theta, std::int64_t t) {
    Vector all;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (double value : states_[g].release(plain::part(sum, groups_[g]), {theta.begin(), theta.end()}, t)) all.push_back(value);
    return all;
  }

 private:
  std::vector<plain::Group> groups_;
  std::vector<plain::SpectralGroup> states_;
};

// Parameters of step t, with spectra of their own.
std::vector<float> parameters(std::int64_t t, std::int64_t size = kSize) { return random_rows(1, size, 500 + t)[0]; }

GivenRows times(GivenRows rows, float factor) {
  for (auto& row : rows)
    for (float& value : row) value *= factor;
  return rows;
}

TEST(Spectral, AgreesWithThePlainFormWithoutNoise) {
  int choice_number = 0;
  for (const Choice& choice : varied_choices()) {
    Bench bench(spectral(0, choice), kSize);
    PlainSpectral plain(choice, small_layers());
    for (std::int64_t t = 0; t < 40; ++t) {
      // Half of the steps share a direction, which turns round every ten: the gate is open in some and closed in others.
      const GivenRows rows = times(random_rows(10, kSize, t % 4 < 2 ? t : 1000), t / 10 % 2 == 0 ? 1 : -1);
      bench.mechanism().begin_step(t, parameters(t));
      const Vector expected = plain.release(bench.sum(rows), parameters(t), t);
      ASSERT_LT(distance(bench.release(rows), expected), 1e-5) << "choice " << choice_number << ", step " << t;
    }
    ++choice_number;
  }
}

TEST(Spectral, AMemoryAgainstTheTrendIsLeftOut) {
  Bench bench(spectral(0, {{.beta = .8, .window = 2}, {.warm_up = .01}}), kSize);
  const GivenRows forth = random_rows(1, kSize, 1), back = times(forth, -1);
  std::vector<float> released;
  for (std::int64_t t = 0; t < 8; ++t) {  // after the turn at 6 the last release points back, the trend still forth
    bench.mechanism().begin_step(t, parameters(t));
    released = bench.release(t < 6 ? forth : back);
  }
  Vector fresh = bench.sum(back);
  for (double& value : fresh) value *= .8;
  EXPECT_LT(distance(released, fresh), 1e-6);
}

// Without noise the release is beta*s and the memory's part, so that the share of the latter follows from the two.
TEST(Spectral, TellsTheMemorysShareAndDepth) {
  for (const Choice& choice : varied_choices()) {
    auto mechanism = spectral(0, choice);
    const Mechanism& view = *mechanism;
    Bench bench(std::move(mechanism), kSize);
    for (std::uint64_t t = 0; t < 12; ++t) {
      const GivenRows rows = random_rows(4, kSize, t);
      const auto released = bench.release(rows);
      const Vector sum = bench.sum(rows);
      double memory = 0, whole = 0;
      for (std::int64_t i = 0; i < kSize; ++i) {
        memory += std::pow(released[i] - choice.beta() * sum[i], 2);
        whole += std::pow(released[i], 2);
      }
      const Mechanism::InsecureParts parts = *view.insecure_parts();
      ASSERT_NEAR(parts.memory_ratio, std::sqrt(memory / whole), 1e-3) << t;
      ASSERT_LE(parts.memory_depth,
                static_cast<double>(std::min<std::int64_t>(static_cast<std::int64_t>(t), choice.memory.window - 1)) + 1e-9);
    }
  }
}

TEST(Memory, EffectiveDepthCountsEqualWeights) {
  EXPECT_EQ(effective_depth(std::vector{.25, .25, .25, .25}), 4);
  EXPECT_EQ(effective_depth(std::vector{2., 0., 0.}), 1);
  EXPECT_EQ(effective_depth({}), 0);
}

TEST(Spectral, BetaOneIsDpSgdBitForBit) {
  Bench sma(spectral(.8, {.memory = {.beta = 1}}), kSize), plain(std::make_unique<GaussianMechanism>(.8), kSize);
  for (std::int64_t t = 0; t < 30; ++t) {
    const GivenRows rows = random_rows(2, kSize, t);
    sma.mechanism().begin_step(t, parameters(t));
    ASSERT_EQ(sma.release(rows), plain.release(rows));
  }
}

TEST(Spectral, SpectraAreLookedAtEveryRthStepOnly) {
  const Choice choice{{}, {.rho_min = 3, .rho_max = 3, .spectral_every = 4}};
  const auto mechanism = spectral(1, choice);
  double lambda = -1;
  for (std::int64_t t = 0; t < 13; ++t) {
    const std::vector<float> theta = parameters(t);
    mechanism->begin_step(t, theta);
    EXPECT_EQ(mechanism->tempering(0) != lambda, t % 4 == 0) << t;
    lambda = mechanism->tempering(0);
    if (t % 4 > 0) continue;
    const auto rho = plain::power_law_exponent(plain::squared_singular_values({theta.begin(), theta.begin() + 63}, 7, 9));
    EXPECT_NEAR(lambda, 1 - std::exp(-.5 * std::abs(*rho - 3)), 1e-9) << t;
  }
}

TEST(Spectral, NoMatrixNoTempering) {
  const Choice choice{{}, {.rho_min = 100, .rho_max = 100, .spectral_tempering = 10}};
  // A layer without a matrix, and one of four singular values: too few for a tail.
  const auto mechanism = spectral(1, choice, {{"a", 0, 63, 0, 7, 9}, {"b", 63, 80}, {"c", 80, 120, 80, 4, 9}});
  mechanism->begin_step(0, parameters(0, 120));
  EXPECT_GT(mechanism->tempering(0), .9);
  EXPECT_EQ(mechanism->tempering(1), 0);
  EXPECT_EQ(mechanism->tempering(2), 0);
}

TEST(Spectral, AModelThatDivergedIsNotTempered) {
  const auto mechanism = spectral(1, {{}, {.rho_min = 100, .rho_max = 100}});
  std::vector<float> theta = parameters(0);
  theta[5] = std::numeric_limits<float>::quiet_NaN();
  mechanism->begin_step(0, theta);
  EXPECT_EQ(mechanism->tempering(0), 0);
  EXPECT_GT(mechanism->tempering(1), 0);
}

// For any history, one record moves the query by at most beta*C.
TEST(Spectral, HistoryConditionedSensitivityIsAtMostBetaC) {
  for (const Choice& choice : varied_choices()) {
    Bench with_record(spectral(0, choice), kSize), without(spectral(0, choice), kSize);
    for (std::int64_t t = 0; t < 9; ++t)  // a common history
      for (Bench* bench : {&with_record, &without}) {
        bench->mechanism().begin_step(t, parameters(t));
        bench->release(random_rows(5, kSize, t));
      }
    GivenRows rows = random_rows(5, kSize, 77);
    for (Bench* bench : {&with_record, &without}) bench->mechanism().begin_step(9, parameters(9));
    const auto base = without.release(rows);
    rows.push_back(random_rows(1, kSize, 78, 50)[0]);
    const auto more = with_record.release(rows);
    const double moved = distance(more, {base.begin(), base.end()});
    EXPECT_LE(moved, choice.beta() * 1.0025 + 1e-6);
    EXPECT_GT(moved, .99 * choice.beta());
  }
}

TEST(Spectral, IsChargedAtSigmaOverBeta) {
  EXPECT_EQ(spectral(1.1, {.memory = {.beta = .8}})->event(.04, .001), Event::poisson_gaussian(.04, 1.1 / .8, .001));
  EXPECT_EQ(spectral(1.1, {.memory = {.beta = 1}})->event(.04, 0), Event::poisson_gaussian(.04, 1.1));
}

// Layers that end within the blocks of noise and across them.
constexpr std::int64_t kLarge = 9000;
std::vector<LayerGroup> large_layers() { return {{"a", 0, 5000, 0, 12, 400}, {"b", 5000, 9000, 5000, 390, 10}}; }

TEST(Spectral, IsPostProcessedDpSgdUnderTheSameNormals) {
  for (const Choice& choice : {Choice{{}, {.warm_up = 2}}, Choice{{.beta = .5, .gamma = .3}, {.rho_min = 4, .spectral_every = 2}}}) {
    Bench sma(spectral(1.1, choice, large_layers()), kLarge), gaussian(std::make_unique<GaussianMechanism>(1.1 / choice.beta()), kLarge);
    PlainSpectral plain(choice, large_layers());
    for (std::int64_t t = 0; t < 10; ++t) {
      const GivenRows rows = random_rows(3, kLarge, t);
      const auto y = gaussian.release(rows);
      sma.mechanism().begin_step(t, parameters(t, kLarge));
      const Vector expected = plain.release({y.begin(), y.end()}, parameters(t, kLarge), t);
      ASSERT_LT(distance(sma.release(rows), expected), 1e-4) << "step " << t;
    }
  }
}

TEST(Spectral, ThreadsChangeNothing) {
  const std::vector<LayerGroup> layers = {{"a", 0, 15000, 0, 10, 1400}, {"b", 15000, 40000, 15000, 12, 2000}};
  std::vector<std::vector<float>> last;
  for (int threads : {1, 2}) {
    at::set_num_threads(threads);
    Bench bench(spectral(1, {{}, {.warm_up = 3}}, layers), 40000);
    std::vector<float> values;
    for (std::int64_t t = 0; t < 8; ++t) {
      bench.mechanism().begin_step(t, parameters(t, 40000));
      values = bench.release(random_rows(2, 40000, t));
    }
    last.push_back(values);
  }
  EXPECT_EQ(last[0], last[1]);
}

TEST(Spectral, TheNoiseOfALayerIsNotClaimedToBeKnown) {
  Bench bench(spectral(1, {}), kSize);
  bench.mechanism().begin_step(0, parameters(0));
  EXPECT_FALSE(bench.released({}).noise_variance());
}

TEST(Spectral, BadOptionsAreRefused) {
  EXPECT_THROW(spectral(1, {{}, {.rho_min = 5, .rho_max = 4}}), InputError);
  EXPECT_THROW(spectral(1, {{}, {.warm_up = 0}}), InputError);
}

}  // namespace
}  // namespace fodp
