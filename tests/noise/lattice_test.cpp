// Seeds are fixed, so every case is deterministic; "false alarm" is the chance that correct code fails with another seed.
#include "fodp/noise/lattice.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/noise/gaussian.h"

namespace fodp {
namespace {

RandomStream seeded(std::uint64_t seed, Purpose purpose = Purpose::noise) {
  return RandomStream(RunKey::from_insecure_seed(seed), purpose);
}

std::vector<std::int64_t> noise_at(const RandomStream& stream, std::uint64_t index, std::uint32_t block, double scale, double grid,
                                   std::size_t size = kNoiseBlock) {
  std::vector<std::int64_t> noise(size, -77);
  draw_lattice_noise(stream, index, block, scale, grid, noise);
  return noise;
}

TEST(LatticeGrid, IsTheLargestPowerOfTwoWithinItsBound) {
  for (const double clip_norm : {1e-6, .1, .5, 1., 1.1, 3., 1024., 1e9})
    for (const std::int64_t parameters : {1L, 2L, 3L, 4L, 5L, 16L, 199082L, 1L << 20, (1L << 20) + 1, 1000000000L, 1L << 40}) {
      const double grid = lattice_grid(clip_norm, parameters);
      int exponent = 0;
      EXPECT_EQ(std::frexp(grid, &exponent), .5);
      // grid * 2^13 * sqrt(d) <= C < 2 * grid * 2^13 * sqrt(d)
      const long double root = std::sqrt(static_cast<long double>(parameters)) * grid * 8192;
      EXPECT_LE(root, clip_norm) << clip_norm << ' ' << parameters;
      EXPECT_GT(2 * root, clip_norm) << clip_norm << ' ' << parameters;
    }
  EXPECT_EQ(lattice_grid(1, 1), 0x1p-13);
  EXPECT_EQ(lattice_grid(1, 4), 0x1p-14);
  EXPECT_EQ(lattice_grid(1, 199082), 0x1p-22);
  // The norm just below a bound that is reached exactly must not be rounded up to it.
  EXPECT_EQ(lattice_grid(std::nextafter(1, 0), 1), 0x1p-14);
  EXPECT_EQ(lattice_grid(std::nextafter(1, 0), 1L << 40), 0x1p-34);
  EXPECT_EQ(lattice_grid(std::sqrt(3.), 3), 0x1p-14);  // this root is rounded down, and the quotient is rounded up to 2^-13
}

TEST(LatticeGrid, RefusesConstantsOutOfRange) {
  EXPECT_THROW(lattice_grid(0, 1), InputError);
  EXPECT_THROW(lattice_grid(-1, 1), InputError);
  EXPECT_THROW(lattice_grid(std::nan(""), 1), InputError);
  EXPECT_THROW(lattice_grid(std::numeric_limits<double>::infinity(), 1), InputError);
  EXPECT_THROW(lattice_grid(1, 0), InputError);
  EXPECT_THROW(lattice_grid(1, (1L << 40) + 1), InputError);
  EXPECT_THROW(sensitivity_slack(1, 1, 0), InputError);
}

TEST(SensitivitySlack, IsBelowAQuarterPercentFor128RowsAndAnyModel) {
  for (std::int64_t parameters = 1; parameters <= 1000000000; parameters += 1 + parameters / 7)
    for (const double clip_norm : {.01, 1., 1.7}) {
      const double slack = sensitivity_slack(clip_norm, parameters, 128);
      ASSERT_LT(slack, .0025) << parameters;
      ASSERT_GT(slack, lattice_grid(clip_norm, parameters) * std::sqrt(parameters) / clip_norm);
    }
  // By hand, at d = 199,082: 255 * gamma_130 + 2^-22 * sqrt(d) = .00197591 + .00010638 = .208229%.
  EXPECT_NEAR(sensitivity_slack(1, 199082, 128), 0.00208229, 1e-8);
}

TEST(SensitivitySlack, GrowsWithTheRowsOfABlock) {
  for (std::int64_t rows = 1; rows < 1000; ++rows) ASSERT_LT(sensitivity_slack(1, 1000, rows), sensitivity_slack(1, 1000, rows + 1));
}

// A record of norm C whose coordinates all round up beside the others' and would not alone: the lattice sums with and without it differ by
// more than C, and by less than the slack allows.
TEST(SensitivitySlack, CoversRoundingThatConspires) {
  constexpr std::size_t size = 4096;
  const double grid = lattice_grid(1, size);
  std::vector<float> others(size, static_cast<float>(.45 * grid)), all(size);
  double record = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double value = 0x1p-6 + (i % 2 ? .6 : -.6) * grid;
    record += value * value;
    all[i] = static_cast<float>(others[i] + value);
  }
  ASSERT_NEAR(std::sqrt(record), 1, 1e-6);
  std::vector<std::int64_t> without(size, 0), with(size, 0);
  add_to_lattice(others, grid, without);
  add_to_lattice(all, grid, with);
  double square = 0;
  for (std::size_t i = 0; i < size; ++i) square += std::pow(static_cast<double>(with[i] - without[i]) * grid, 2);
  EXPECT_GT(std::sqrt(square), 1 + 2e-5);
  EXPECT_LT(std::sqrt(square), 1 + sensitivity_slack(1, size, 128));
}

TEST(Lattice, RoundsTiesToEven) {
  const std::vector<float> values = {.5, 1.5, 2.5, 3.5, -.5, -1.5, -2.5, .49999997f, .50000006f, -0.f, 7};
  std::vector<std::int64_t> total(values.size(), 10);
  add_to_lattice(values, 1, total);
  EXPECT_EQ(total, (std::vector<std::int64_t>{10, 12, 12, 14, 10, 8, 8, 10, 11, 10, 17}));
}

TEST(Lattice, RoundsEveryMagnitudeAsNearbyint) {
  std::mt19937_64 generator(1);
  std::vector<float> values;
  for (int exponent = -60; exponent < 51; ++exponent)
    for (int i = 0; i < 200; ++i)
      values.push_back(std::ldexp(1 + static_cast<float>(generator() >> 41) * 0x1p-23f, exponent) * (i % 2 ? 1 : -1));
  values.push_back(std::nextafter(0x1p51f, 0.f));
  for (const double grid : {1., 0x1p-22, 0x1p13}) {
    std::vector<float> scaled;
    for (const float value : values) scaled.push_back(static_cast<float>(value * grid));
    std::vector<std::int64_t> total(values.size(), 1L << 40);
    add_to_lattice(scaled, grid, total);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(total[i] - (1L << 40), std::llrint(static_cast<double>(scaled[i]) / grid)) << values[i];
  }
}

TEST(Lattice, RefusesWhatIsNotFiniteOrTooLargeAndAddsNothing) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const double grid = 0x1p-20;
  for (const float bad : {nan, -nan, infinity, -infinity, 0x1p31f, -0x1p31f, FLT_MAX})
    for (std::size_t place = 0; place < 37; place += 9) {
      std::vector<float> values(37, 1);
      values[place] = bad;
      std::vector<std::int64_t> total(37, 5);
      EXPECT_THROW(add_to_lattice(values, grid, total), FaultError) << bad << " at " << place;
      EXPECT_EQ(total, std::vector<std::int64_t>(37, 5));
    }
  std::vector<std::int64_t> total(1, 0);
  add_to_lattice(std::vector<float>{std::nextafter(0x1p31f, 0.f)}, grid, total);
  EXPECT_EQ(total[0], (1L << 51) - (1L << 27));
  // On a coarse grid every finite float fits, infinity still does not.
  add_to_lattice(std::vector<float>{FLT_MAX}, 0x1p100, total);
  EXPECT_THROW(add_to_lattice(std::vector<float>{infinity}, 0x1p100, total), FaultError);
  EXPECT_THROW(add_to_lattice(std::vector<float>{1, 2}, grid, total), InputError);
}

TEST(Lattice, RefusesAGridThatIsNotAPowerOfTwo) {
  std::vector<std::int64_t> total(1, 0);
  for (const double grid : {0., -1., .3, 3., std::nan(""), std::numeric_limits<double>::infinity(), 0x1p-101, 0x1p101}) {
    EXPECT_THROW(add_to_lattice(std::vector<float>{1}, grid, total), InputError) << grid;
    EXPECT_THROW(noise_at(seeded(1), 0, 0, 1, grid, 2), InputError) << grid;
  }
}

TEST(Lattice, SumDoesNotDependOnTheOrderOfBlocks) {
  constexpr std::size_t size = 501;
  std::mt19937 generator(2);
  std::normal_distribution<float> value;
  std::vector<std::vector<float>> blocks(20, std::vector<float>(size));
  for (auto& block : blocks)
    for (float& coordinate : block) coordinate = value(generator);
  const auto sum = [&] {
    std::vector<std::int64_t> total(size, 0);
    for (const auto& block : blocks) add_to_lattice(block, lattice_grid(1, size), total);
    return total;
  };
  const auto first = sum();
  for (int i = 0; i < 10; ++i) {
    std::shuffle(blocks.begin(), blocks.end(), generator);
    EXPECT_EQ(sum(), first);
  }
}

// Ties, where the two sides may differ for an odd k, have no mass under the ideal Gaussian and do not occur here.
TEST(LatticeNoise, AddedToAnIntegerSumIsTheRoundedSum) {
  if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double cannot hold the sum";
  const RandomStream stream = seeded(3);
  const double grid = 0x1p-22, scale = 1.1;
  std::vector<std::uint64_t> words(kNoiseBlock);
  stream.fill(4, 5, words);
  std::vector<double> normals(words.size());
  normals_from_words(words, normals);
  const auto noise = noise_at(stream, 4, 5, scale, grid);
  std::mt19937_64 generator(3);
  int exact = 0;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    const std::int64_t sum = static_cast<std::int64_t>(generator() >> 31) - (1L << 32);
    const double gaussian = normals[i] * (scale / grid);
    const long double together = static_cast<long double>(sum) + gaussian;
    exact += together - sum == gaussian;
    ASSERT_EQ(sum + noise[i], std::llrint(together)) << sum << " + " << gaussian;
  }
  EXPECT_GT(exact, kNoiseBlock * 9 / 10);
}

// Sum of squares of 2^17 draws over sigma^2: chi-square, whose mean ratio has standard deviation .0039. Accepted within 5 of them: false
// alarm 5.7e-7 each. Noise of 2/3 or 3/2 of the scale is refused.
TEST(LatticeNoise, HasTheScaleAskedForAndNoOther) {
  const RandomStream stream = seeded(4);
  const double grid = 0x1p-22;
  for (const double sigma : {.01, 1.1, 30.}) {
    const auto accepted = [&](double drawn) {
      double square = 0;
      for (std::uint32_t block = 0; block < 16; ++block)
        for (const std::int64_t z : noise_at(stream, 6, block, drawn, grid)) square += std::pow(static_cast<double>(z) * grid / sigma, 2);
      return std::abs(square / 0x1p17 - 1) < 5 * std::sqrt(2 / 0x1p17);
    };
    EXPECT_TRUE(accepted(sigma));
    EXPECT_FALSE(accepted(sigma * 2 / 3));
    EXPECT_FALSE(accepted(sigma * 3 / 2));
  }
}

// Counts of each integer for noise of one grid step, against the normal mass of its cell; 2^17 draws in 9 cells, 8 degrees of freedom:
// above 45 with chance 3.7e-7. Rounding down instead of to the nearest stands in the thousands.
TEST(LatticeNoise, CellsHaveTheMassOfTheRoundedGaussian) {
  const RandomStream stream = seeded(5);
  std::vector<double> count(9, 0);
  for (std::uint32_t block = 0; block < 16; ++block)
    for (const std::int64_t z : noise_at(stream, 7, block, 1, 1))
      count[static_cast<std::size_t>(std::clamp<std::int64_t>(z, -4, 4) + 4)] += 1;
  const auto below = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
  double chi_square = 0;
  for (int cell = 0; cell < 9; ++cell) {
    const double low = cell == 0 ? 0 : below(cell - 4.5), high = cell == 8 ? 1 : below(cell - 3.5);
    const double expected = 0x1p17 * (high - low);
    chi_square += std::pow(count[static_cast<std::size_t>(cell)] - expected, 2) / expected;
  }
  EXPECT_LT(chi_square, 45);
}

// Standard deviations of a sample correlation from none, about N(0, 1) for independent draws.
double correlation(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    aa += x * x, bb += y * y, ab += x * y;
  }
  return ab / std::sqrt(aa * bb) * std::sqrt(static_cast<double>(a.size()));
}

// 15 vectors of 8,192 draws, 105 correlations, each within 5.5: false alarm 4.0e-6. Noise used twice stands at 90, a tenth of it mixed in
// at 9.
TEST(LatticeNoise, IsIndependentAcrossStepsReleasesPurposesAndBlocks) {
  const double grid = 0x1p-10;
  std::vector<std::vector<std::int64_t>> drawn;
  for (const std::uint64_t release : {0, 1, 2, 3, 1000, 6249})
    for (const std::uint32_t block : {0u, 1u}) drawn.push_back(noise_at(seeded(6), release, block, 1, grid));
  for (const Purpose purpose : {Purpose::sampling, Purpose::acceptance}) drawn.push_back(noise_at(seeded(6, purpose), 0, 0, 1, grid));
  drawn.push_back(noise_at(seeded(7), 0, 0, 1, grid));
  for (std::size_t a = 0; a < drawn.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_LT(std::abs(correlation(drawn[a], drawn[b])), 5.5) << a << ' ' << b;
  EXPECT_GT(correlation(drawn[0], noise_at(seeded(6), 0, 0, 2, grid)), 80);
  auto mixed = drawn[1];
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] += drawn[0][i] / 10;
  EXPECT_GT(correlation(drawn[0], mixed), 5.5);
}

TEST(LatticeNoise, FewerCoordinatesAreAPrefixForOddSizesToo) {
  const RandomStream stream = seeded(8);
  const auto all = noise_at(stream, 1, 2, 1, 0x1p-20);
  for (const std::size_t size : {0, 1, 2, 7, 511, 512, 513, 1025, 8191}) {
    const auto some = noise_at(stream, 1, 2, 1, 0x1p-20, size);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << size;
  }
}

TEST(LatticeNoise, NoScaleIsNoNoiseAndBadArgumentsAreRefused) {
  const RandomStream stream = seeded(9);
  EXPECT_EQ(noise_at(stream, 0, 0, 0, 1, 99), std::vector<std::int64_t>(99, 0));
  EXPECT_THROW(noise_at(stream, 0, 0, -1, 1, 2), InputError);
  EXPECT_THROW(noise_at(stream, 0, 0, std::nan(""), 1, 2), InputError);
  EXPECT_THROW(noise_at(stream, 0, 0, std::numeric_limits<double>::infinity(), 1, 2), InputError);
  EXPECT_THROW(noise_at(stream, 0, 0, 0x1.8p47, 1, 2), InputError);
  EXPECT_THROW(noise_at(stream, 0, 0, 1, 1, kNoiseBlock + 1), InputError);
}

}  // namespace
}  // namespace fodp
