#include "fodp/mechanism/band_choice.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fodp/accounting/calibrate.h"
#include "fodp/accounting/pld.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

using Vector = std::vector<double>;

// The first `count` coefficients of 1/c.
Vector inverse(const Vector& c, std::size_t count) {
  Vector h;
  for (std::size_t t = 0; t < count; ++t) {
    double value = t == 0;
    for (std::size_t k = 1; k < c.size() && k <= t; ++k) value -= c[k] * h[t - k];
    h.push_back(value / c[0]);
  }
  return h;
}

// (1-x)^(-order) by the gamma function, scaled.
TEST(BandCoefficients, AreThoseOfThePower) {
  for (double order : {.1, .3, .5, .75, .95, 1.}) {
    const Vector c = band_coefficients(40, order);
    double squared = 0;
    for (std::size_t k = 0; k < c.size(); ++k) {
      const double x = static_cast<double>(k);
      EXPECT_NEAR(c[k] / c[0], std::exp(std::lgamma(x + order) - std::lgamma(order) - std::lgamma(x + 1)), 1e-13) << order << " " << k;
      squared += c[k] * c[k];
    }
    EXPECT_NEAR(squared, 1, 1e-14);
  }
}

TEST(BandCoefficients, OfOrderOneAreAllEqualAndTheirInverseIsADifference) {
  constexpr std::size_t kBands = 12;
  const Vector c = band_coefficients(kBands, 1), h = inverse(c, 3 * kBands);
  for (double value : c) EXPECT_NEAR(value, 1 / std::sqrt(12.), 1e-15);
  // (1-x)/(1-x^b): 1 - x where nothing is cut, and again in every cycle.
  for (std::size_t t = 0; t < h.size(); ++t) {
    const double expected = t % kBands == 0 ? 1 : t % kBands == 1 ? -1 : 0;
    EXPECT_NEAR(h[t] * c[0], expected, 1e-12) << t;
  }
}

TEST(BandCoefficients, TheHalfOrderIsTheRootOfThePrefixSum) {
  const Vector c = band_coefficients(20);
  EXPECT_EQ(c, band_coefficients(20, .5));
  for (std::size_t t = 0; t < c.size(); ++t) {
    double product = 0;
    for (std::size_t k = 0; k <= t; ++k) product += c[k] * c[t - k];
    EXPECT_NEAR(product, c[0] * c[0], 1e-13);
  }
}

TEST(BandCoefficients, RefuseAnOrderOutOfRange) {
  for (double order : {0., -1., 1.01, static_cast<double>(NAN)}) EXPECT_THROW(band_coefficients(4, order), InputError) << order;
}

TEST(BandNoise, OfOneBandIsDpSgds) {
  const BandNoise noise = band_noise({1}, 585);
  EXPECT_DOUBLE_EQ(noise.path, 1);
  EXPECT_DOUBLE_EQ(noise.end, 1);
  EXPECT_DOUBLE_EQ(noise.step, 1);
}

// By the definition, with the sums written out.
TEST(BandNoise, IsThatOfTheDefinition) {
  constexpr std::size_t kSteps = 50;
  const Vector c = band_coefficients(7, .7), h = inverse(c, kSteps);
  double path = 0, end = 0, step = 0;
  for (std::size_t t = 0; t < kSteps; ++t) {
    double of_t = 0;
    for (std::size_t s = 0; s <= t; ++s) {
      double prefix = 0;
      for (std::size_t i = 0; i <= s; ++i) prefix += h[i];
      of_t += prefix * prefix;
    }
    path += of_t / kSteps;
    end = of_t;
    step += h[t] * h[t];
  }
  const BandNoise noise = band_noise(c, kSteps);
  EXPECT_NEAR(noise.path, std::sqrt(path / (.5 * (kSteps + 1))), 1e-12);
  EXPECT_NEAR(noise.end, std::sqrt(end / kSteps), 1e-12);
  EXPECT_NEAR(noise.step, std::sqrt(step), 1e-12);
}

// Two bands by hand: c = (1, a)/n, 1/c = n*(1, -a, a^2, ...), with prefix sums n and n*(1-a); n^2 = 1 + a^2.
TEST(BandNoise, OfTwoStepsByHand) {
  const double a = .6, n = std::sqrt(1 + a * a);
  const BandNoise noise = band_noise(band_coefficients(2, a), 2);
  EXPECT_NEAR(noise.end, n * std::sqrt((1 + (1 - a) * (1 - a)) / 2), 1e-14);
  EXPECT_NEAR(noise.path, n * std::sqrt((2 + (1 - a) * (1 - a)) / 3), 1e-14);
  EXPECT_NEAR(noise.step, n * std::sqrt(1 + a * a), 1e-14);
}

TEST(BandNoise, SettlesInLongRuns) {
  const Vector c = band_coefficients(16, .7);
  EXPECT_NEAR(band_noise(c, kLongest).path / band_noise(c, 100 * kLongest).path, 1, 0) << "judged by the first steps";
  EXPECT_NEAR(band_noise(c, kLongest / 2).path / band_noise(c, kLongest).path, 1, .02);
}

BandQuestion fashion_mnist(double epsilon) { return {.sample_rate = .0171, .steps = 585, .parameters = 52650, .budget = {epsilon, 1e-5}}; }

// What b bands need over what DP-SGD needs, by the tight accountant.
double tight_ratio(const BandQuestion& question, std::int64_t bands) {
  const PldAccountant pld;
  const auto sigma = [&](std::int64_t b) {
    const PlannedRun run{.sample_rate = std::min(1.0, static_cast<double>(b) * question.sample_rate),
                         .steps = (question.steps + b - 1) / b};
    return calibrate_noise_multiplier(run, question.budget, pld).noise_multiplier;
  };
  return sigma(bands) / sigma(1);
}

TEST(BandChoice, ManyBandsAtAWeakBudgetAndOneAtAStrongOne) {
  const BandChoice weak = choose_bands(fashion_mnist(8));
  EXPECT_EQ(weak.bands, 16);
  EXPECT_DOUBLE_EQ(weak.order, .7);
  const BandChoice middle = choose_bands(fashion_mnist(3));
  EXPECT_EQ(middle.bands, 8);
  EXPECT_EQ(choose_bands(fashion_mnist(1)).bands, 1) << "the gain is below a tenth";
  EXPECT_EQ(choose_bands(fashion_mnist(1)).path, 1);
}

TEST(BandChoice, IsTheLeastByTheTightAccountantToo) {
  for (double epsilon : {3., 8.}) {
    const BandQuestion question = fashion_mnist(epsilon);
    const BandChoice choice = choose_bands(question);
    const BandNoise chosen = band_noise(band_coefficients(choice.bands, choice.order), question.steps);
    const double needed = tight_ratio(question, choice.bands);
    EXPECT_NEAR(choice.path / (needed * chosen.path), 1, .03);
    EXPECT_LE(needed * chosen.path, 1 - kLeastGain);
    EXPECT_LE(needed * chosen.step, 1.03 * kMostStepNoise);
    for (std::int64_t bands : {2, 4, 8, 16, 32}) {
      const double more = tight_ratio(question, bands);
      for (double order : {.4, .5, .6, .7, .8, .9}) {
        const BandNoise other = band_noise(band_coefficients(bands, order), question.steps);
        if (more * other.step > kMostStepNoise) continue;
        EXPECT_GE(1.03 * more * other.path, needed * chosen.path) << bands << " " << order;
      }
    }
  }
}

TEST(BandChoice, KeepsWhatIsGiven) {
  BandQuestion question = fashion_mnist(8);
  question.order = .5;
  const BandChoice of_order = choose_bands(question);
  EXPECT_EQ(of_order.order, .5);
  EXPECT_GT(of_order.bands, 1);
  question = fashion_mnist(1);
  question.bands = 4;  // although it gains nothing
  const BandChoice of_bands = choose_bands(question);
  EXPECT_EQ(of_bands.bands, 4);
  EXPECT_DOUBLE_EQ(of_bands.order, .8);
  question.order = .25;
  EXPECT_EQ(choose_bands(question).order, .25);
  question = fashion_mnist(8);
  question.bands = 1;
  EXPECT_EQ(choose_bands(question).bands, 1);
}

TEST(BandChoice, StaysWithinRateStepsAndMemory) {
  BandQuestion question = fashion_mnist(30);
  question.sample_rate = .3;
  EXPECT_LE(choose_bands(question).bands, 3);
  question.sample_rate = 1;
  EXPECT_EQ(choose_bands(question).bands, 1);
  question = fashion_mnist(30);
  question.steps = 3;
  EXPECT_LE(choose_bands(question).bands, 2);
  question = fashion_mnist(8);
  question.parameters = 20000000;  // 160 MB for the noise of a step
  EXPECT_EQ(choose_bands(question).bands, 4);
}

TEST(BandChoice, SaysOneWhereNothingMeetsTheBudget) {
  BandQuestion question = fashion_mnist(1e-9);
  question.budget.delta = 1e-300;
  EXPECT_EQ(choose_bands(question).bands, 1);
}

TEST(BandChoice, IsTheSameEveryTime) {
  const BandChoice a = choose_bands(fashion_mnist(5.5)), b = choose_bands(fashion_mnist(5.5));
  EXPECT_EQ(a.bands, b.bands);
  EXPECT_EQ(a.order, b.order);
  EXPECT_EQ(a.path, b.path);
}

}  // namespace
}  // namespace fodp
