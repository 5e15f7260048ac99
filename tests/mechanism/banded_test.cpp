#include "fodp/mechanism/banded.h"

#include <numeric>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "mechanism/bench.h"

namespace fodp {
namespace {

using namespace fodp::testing;

DrawTerms turn(std::uint64_t number, std::int64_t cycle) {
  return {.ticket = number / static_cast<std::uint64_t>(cycle), .cycle = cycle, .turn = number};
}

std::unique_ptr<BandedMechanism> banded(double sigma, std::int64_t bands) {
  return std::make_unique<BandedMechanism>(NoiseSchedule{.noise_multiplier = sigma}, bands);
}

// A run of b bands, a charge for each cycle.
class BandedRun {
 public:
  BandedRun(double sigma, std::int64_t bands, std::int64_t size, std::uint64_t seed = 1) : bench_(banded(sigma, bands), size, seed) {}

  Release release(const GivenRows& rows) {
    const std::int64_t bands = bench_.mechanism().cycle();
    ClippedSum sum = bench_.known().of(rows, turn(released_, bands));
    if (released_++ % bands == 0) charge_ = std::make_unique<Charge>(bench_.ledger().charge(bench_.mechanism().event(sum), bands));
    return bench_.mechanism().release(std::move(sum), *charge_, bench_.stream());
  }

  // What is released of empty lots, over sigma*C.
  std::vector<Vector> noise(std::int64_t steps, double sigma) {
    std::vector<Vector> all;
    for (std::int64_t t = 0; t < steps; ++t) {
      const Release released = release({});
      all.emplace_back(released.values().begin(), released.values().end());
      for (double& value : all.back()) value /= sigma;
    }
    return all;
  }

 private:
  Bench bench_;
  std::unique_ptr<Charge> charge_;  // of the present cycle
  std::int64_t released_ = 0;
};

double inner(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// h with sum_k c_k h_{t-k} = [t = 0]: how much of z_{t-i} is in xi_t.
Vector inverse(const Vector& c, std::size_t count) {
  Vector h;
  for (std::size_t t = 0; t < count; ++t) {
    double value = t == 0;
    for (std::size_t k = 1; k < c.size() && k <= t; ++k) value -= c[k] * h[t - k];
    h.push_back(value / c[0]);
  }
  return h;
}

// (1-x)^(-1/2) = 1 + x/2 + 3x^2/8 + ...; 1 + 1/4 + 9/64 = 89/64.
TEST(Banded, CoefficientsByHand) {
  EXPECT_EQ(band_coefficients(1), Vector{1});
  const Vector c = band_coefficients(3);
  ASSERT_EQ(c.size(), 3u);
  EXPECT_NEAR(c[0], 8 / std::sqrt(89.), 1e-15);
  EXPECT_NEAR(c[1], 4 / std::sqrt(89.), 1e-15);
  EXPECT_NEAR(c[2], 3 / std::sqrt(89.), 1e-15);
}

TEST(Banded, CoefficientsHaveNormOne) {
  for (std::int64_t bands : {1, 2, 3, 8, 100, 4096}) {
    const Vector c = band_coefficients(bands);
    EXPECT_EQ(c.size(), static_cast<std::size_t>(bands));
    EXPECT_NEAR(inner(c, c), 1, 1e-12);
  }
}

// c times c is the prefix sum: all ones, as far as the cut allows.
TEST(Banded, CoefficientsAreTheRootOfThePrefixSum) {
  const Vector c = band_coefficients(20);
  for (std::size_t t = 0; t < 20; ++t) {
    double product = 0;
    for (std::size_t k = 0; k <= t; ++k) product += c[k] * c[t - k];
    EXPECT_NEAR(product, c[0] * c[0], 1e-12);
  }
}

TEST(Banded, OneBandIsDpSgdBitForBit) {
  constexpr std::int64_t kSize = 20000;
  Bench band(banded(.8, 1), kSize), plain(std::make_unique<GaussianMechanism>(.8), kSize);
  for (std::uint64_t t = 0; t < 5; ++t) {
    const GivenRows rows = random_rows(2, kSize, t);
    const Release a = band.released(rows), b = plain.released(rows);
    ASSERT_TRUE(std::ranges::equal(a.values(), b.values()));
    EXPECT_EQ(a.noise_variance(), b.noise_variance());
  }
}

TEST(Banded, WithoutNoiseItIsTheSum) {
  BandedRun run(0, 4, 2);
  for (int t = 0; t < 6; ++t) EXPECT_EQ(run.release({{.5f, .25f}}).values()[1], .25f);
}

TEST(Banded, ADifferenceOfTheRowsMovesItsOwnReleaseOnly) {
  constexpr std::int64_t kSize = 9000;
  BandedRun with(1, 4, kSize), without(1, 4, kSize);
  const GivenRows rows = random_rows(1, kSize, 3);
  const auto sum = opened(KnownSum(kSize).of(rows));
  for (int t = 0; t < 10; ++t) {
    const Release a = with.release(t == 2 ? rows : GivenRows{}), b = without.release({});
    for (std::int64_t i = 0; i < kSize; ++i) ASSERT_NEAR(a.values()[i] - b.values()[i], t == 2 ? sum[i] : 0, 1e-5) << t;
  }
}

// The noise that privacy rests on: z = C xi is white, of unit variance. Thirteen estimates, each two-sided within five standard errors: a
// false alarm in 1e5 if the seed were free.
TEST(Banded, TheBandsTurnTheNoiseIntoWhiteNoise) {
  constexpr std::int64_t kSize = 3000, kSteps = 40, kBands = 8;
  const double sigma = 1.3;
  const std::vector<Vector> xi = BandedRun(sigma, kBands, kSize).noise(kSteps, sigma);
  const Vector c = band_coefficients(kBands);
  std::vector<Vector> z(kSteps, Vector(kSize, 0.0));
  for (std::int64_t t = 0; t < kSteps; ++t)
    for (std::int64_t k = 0; k < std::min(kBands, t + 1); ++k)
      for (std::int64_t i = 0; i < kSize; ++i) z[t][i] += c[k] * xi[t - k][i];

  double squared = 0;
  for (const Vector& of_step : z) squared += inner(of_step, of_step);
  EXPECT_NEAR(squared / (kSize * kSteps), 1, five_errors(kSize * kSteps));
  for (std::int64_t lag = 1; lag <= 12; ++lag) {
    double product = 0;
    for (std::int64_t t = lag; t < kSteps; ++t) product += inner(z[t], z[t - lag]);
    EXPECT_LT(std::abs(product), 5 * std::sqrt(double(kSize * (kSteps - lag)))) << "lag " << lag;
  }
}

// What is released is correlated as the inverse of the bands says: 72 estimates, each within five standard errors.
TEST(Banded, TheReleasedNoiseIsCorrelatedAsTheInverseSays) {
  constexpr std::int64_t kSize = 20000, kSteps = 12, kBands = 4;
  const std::vector<Vector> xi = BandedRun(1, kBands, kSize).noise(kSteps, 1);
  const Vector h = inverse(band_coefficients(kBands), kSteps);
  const auto covariance = [&](std::int64_t t, std::int64_t s) {
    double sum = 0;
    for (std::int64_t i = 0; i <= s; ++i) sum += h[t - i] * h[s - i];
    return sum;
  };
  for (std::int64_t t = 0; t < kSteps; ++t)
    for (std::int64_t s = 0; s <= t; ++s) {
      const double expected = covariance(t, s), error = std::sqrt((covariance(t, t) * covariance(s, s) + expected * expected) / kSize);
      EXPECT_NEAR(inner(xi[t], xi[s]) / kSize, expected, 5 * error) << t << ", " << s;
    }
  EXPECT_LT(inner(xi[5], xi[4]) / kSize, -.2) << "neighbours cancel";
}

TEST(Banded, NoiseOfTheSumOverStepsIsLessThanIndependentNoises) {
  constexpr std::int64_t kSize = 1000, kSteps = 32;
  const auto of_sum = [&](std::int64_t bands) {
    Vector total(kSize, 0.0);
    for (const Vector& xi : BandedRun(1, bands, kSize).noise(kSteps, 1))
      for (std::int64_t i = 0; i < kSize; ++i) total[i] += xi[i];
    return mean_square(total);
  };
  const double independent = of_sum(1), correlated = of_sum(8);
  EXPECT_NEAR(independent, kSteps, kSteps * five_errors(kSize));
  EXPECT_LT(correlated, .3 * independent);
}

TEST(Banded, TheNoiseVarianceIsKnown) {
  constexpr std::int64_t kSize = 20000, kBands = 5;
  const double sigma = 1.7;
  BandedRun run(sigma, kBands, kSize);
  for (int t = 0; t < 12; ++t) {
    const Release release = run.release({});
    ASSERT_TRUE(release.noise_variance());
    const double claimed = *release.noise_variance();
    if (t == 0) {
      EXPECT_NEAR(claimed, std::pow(sigma / band_coefficients(kBands)[0], 2), 1e-12);
    }
    EXPECT_NEAR(mean_square(release.values()), claimed, claimed * five_errors(kSize)) << t;
  }
}

TEST(Banded, ThreadsChangeNothing) {
  std::vector<std::vector<float>> last;
  for (int threads : {1, 2}) {
    at::set_num_threads(threads);
    BandedRun run(1, 3, 40000);
    for (int t = 0; t < 5; ++t) run.release({});
    const Release release = run.release({});
    last.emplace_back(release.values().begin(), release.values().end());
  }
  EXPECT_EQ(last[0], last[1]);
}

TEST(Banded, LotsOfAnotherCycleAreRefused) {
  Bench bench(banded(1, 8), 4);
  for (std::int64_t cycle : {1, 4, 7, 9, 16}) {
    ClippedSum sum = bench.known().of({}, turn(0, cycle));
    Charge charge = bench.ledger().charge(bench.mechanism().event(sum), 8);
    EXPECT_THROW(bench.mechanism().release(std::move(sum), charge, bench.stream()), PrivacyError) << cycle;
  }
}

TEST(Banded, OneChargeCoversACycleAndNoMore) {
  Bench bench(banded(1, 3), 4);
  const auto sum = [&](std::uint64_t t) { return bench.known().of({}, turn(t, 3)); };
  const Event event = bench.mechanism().event(sum(0));
  {
    Charge too_wide = bench.ledger().charge(event, 4);
    EXPECT_THROW(bench.mechanism().release(sum(0), too_wide, bench.stream()), PrivacyError);
  }
  Charge charge = bench.ledger().charge(event, 3);
  for (std::uint64_t t = 0; t < 3; ++t) EXPECT_NO_THROW(bench.mechanism().release(sum(t), charge, bench.stream()));
  EXPECT_THROW(bench.mechanism().release(sum(3), charge, bench.stream()), PrivacyError);
}

TEST(Banded, AChargeIsForOneCycleOnly) {
  Bench bench(banded(1, 3), 4);
  const auto sum = [&](std::uint64_t t) { return bench.known().of({}, turn(t, 3)); };
  Charge first = bench.ledger().charge(bench.mechanism().event(sum(0)), 3);
  bench.mechanism().release(sum(2), first, bench.stream());
  EXPECT_THROW(bench.mechanism().release(sum(3), first, bench.stream()), PrivacyError) << "the next cycle has a ticket of its own";
}

// A group that comes back before its cycle is over would meet noise that is correlated with what it met before.
TEST(Banded, LotsOutOfTurnAreRefused) {
  for (std::uint64_t second : {5, 6, 7, 8, 9}) {
    Bench bench(banded(1, 3), 4);
    const auto release = [&](std::uint64_t t) {
      ClippedSum sum = bench.known().of({}, turn(t, 3));
      Charge charge = bench.ledger().charge(bench.mechanism().event(sum), 3);
      bench.mechanism().release(std::move(sum), charge, bench.stream());
    };
    EXPECT_NO_THROW(release(6)) << "a run may begin anywhere in the cycle";
    if (second == 7) {
      EXPECT_NO_THROW(release(second));
    } else {
      EXPECT_THROW(release(second), PrivacyError) << second;
    }
  }
}

TEST(Banded, TwoSumsOfOneLotAreRefused) {
  Bench bench(banded(1, 3), 4);
  DrawTerms terms = turn(0, 3);
  terms.queries = 2;
  ClippedSum sum = bench.known().of({}, terms);
  Charge charge = bench.ledger().charge(bench.mechanism().event(sum), 3);
  EXPECT_THROW(bench.mechanism().release(std::move(sum), charge, bench.stream()), PrivacyError);
}

TEST(Banded, NoiseThatVariesIsRefused) {
  EXPECT_THROW(BandedMechanism({.noise_multiplier = Schedule::linear(1, 2), .steps = 10}, 4), InputError);
}

}  // namespace
}  // namespace fodp
