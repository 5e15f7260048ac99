// Seeds are fixed, so every case is deterministic; "false alarm" is the chance that a correct generator fails with another seed.
#include "fodp/noise/gaussian.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/noise/stream.h"

namespace fodp {
namespace {

std::vector<std::uint64_t> random_words(std::uint64_t seed, std::size_t size) {
  std::vector<std::uint64_t> words(size);
  RandomStream(RunKey::from_insecure_seed(seed), Purpose::noise).fill(0, 0, words);
  return words;
}

std::vector<double> normals_of(const std::vector<std::uint64_t>& words) {
  std::vector<double> normals(words.size());
  normals_from_words(words, normals);
  return normals;
}

// Words where conversions round, tie, carry or vanish, in all pairings.
std::vector<std::uint64_t> edge_words() {
  std::vector<std::uint64_t> edges = {0, 1, 0x7ff, 0x800, 0x801, 0xffffffff, 0x100000000, ~std::uint64_t{0}, ~std::uint64_t{0x7ff}};
  for (const int bit : {41, 52, 53, 54, 61, 62, 63})
    for (const std::int64_t offset : {-1025, -1024, -513, -2, -1, 0, 1, 2, 3, 512, 1024, 1025, 3072})
      edges.push_back((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(offset));
  std::vector<std::uint64_t> pairs;
  for (const std::uint64_t first : edges)
    for (const std::uint64_t second : edges) pairs.insert(pairs.end(), {first, second});
  return pairs;
}

TEST(Gaussian, KnownWordsGiveTheLargestAndTheMedianRadius) {
  const double largest = std::sqrt(2 * 76 * std::numbers::ln2);  // u = 2^-76
  EXPECT_GT(largest, 10.2);
  const auto east = normals_of({0, 0});
  EXPECT_DOUBLE_EQ(east[0], largest);
  EXPECT_EQ(east[1], 0);
  // A quarter of a turn, with the lowest of the 11 fine bits set: u = 3 * 2^-76.
  const auto north = normals_of({0, (std::uint64_t{1} << 62) + 1});
  EXPECT_EQ(north[0], 0);
  EXPECT_DOUBLE_EQ(north[1], std::sqrt(-2 * std::log(3 * 0x1p-76)));
  const auto west = normals_of({std::uint64_t{1} << 63, std::uint64_t{1} << 63});
  EXPECT_DOUBLE_EQ(west[0], -std::sqrt(2 * std::numbers::ln2));
  EXPECT_EQ(west[1], 0);
  // The uniform that rounds to one.
  EXPECT_EQ(normals_of({~std::uint64_t{0}, 0})[0], 0);
}

// What docs/finite-precision.md allows the arithmetic: log, root, sine and product cost 2.6 * 2^-52 of the radius, the rounding of the
// uniform 2^-52 / radius.
TEST(Gaussian, AgreesWithLongDoubleWithinTheDocumentedError) {
  if (sizeof(long double) == sizeof(double)) GTEST_SKIP() << "long double is double";
  auto words = random_words(1, 200000);
  const auto edges = edge_words();
  words.insert(words.end(), edges.begin(), edges.end());
  const auto normals = normals_of(words);
  double worst = 0;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const long double fine = (static_cast<long double>(words[i + 1] & 0x7ff) + .5L) * 0x1p-11L;
    const long double below_one = static_cast<long double>(~words[i]) + (1 - fine);  // 1 - u in units of 2^-64
    const long double log_u =
        words[i] >> 63 ? std::log1p(-below_one * 0x1p-64L) : std::log((static_cast<long double>(words[i]) + fine) * 0x1p-64L);
    const long double radius = std::sqrt(-2 * log_u);
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(words[i + 1] >> 11) * 0x1p-53L;
    const long double error =
        std::max(std::abs(normals[i] - radius * std::cos(angle)), std::abs(normals[i + 1] - radius * std::sin(angle)));
    worst = std::max(worst, static_cast<double>(error / (radius * 2.6L * 0x1p-52L + std::min(0x1p-52L / radius, 0x1p-25L))));
  }
  EXPECT_LT(worst, 1);
  EXPECT_GT(worst, .1);  // a reference that cannot tell would give nearly nothing
}

TEST(Gaussian, EveryVectorWidthGivesTheSameBits) {
  auto words = random_words(2, 1 << 20);
  const auto edges = edge_words();
  words.insert(words.begin(), edges.begin(), edges.end());
  std::vector<double> narrow(words.size()), wide(words.size());
  normals_from_words(words, narrow, 2);
  for (int lanes = 4; lanes <= widest_lanes(); lanes *= 2) {
    normals_from_words(words, wide, lanes);
    EXPECT_EQ(std::memcmp(narrow.data(), wide.data(), words.size() * sizeof(double)), 0) << lanes << " lanes";
  }
  EXPECT_EQ(std::memcmp(narrow.data(), normals_of(words).data(), words.size() * sizeof(double)), 0);
}

TEST(Gaussian, EverySizeGivesTheSameBitsAsOnePairAtATime) {
  const auto words = random_words(3, 64);
  for (int lanes = 2; lanes <= widest_lanes(); lanes *= 2)
    for (std::size_t size = 0; size <= 40; size += 2) {
      std::vector<double> together(size + 2, -99), alone(size);
      normals_from_words(std::span(words).first(size), std::span(together).first(size), lanes);
      for (std::size_t i = 0; i < size; i += 2) normals_from_words(std::span(words).subspan(i, 2), std::span(alone).subspan(i, 2), 2);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin())) << size << " with " << lanes;
      EXPECT_EQ(together[size], -99) << "written past the end";
    }
}

TEST(Gaussian, RefusesOddAndUnequalSizes) {
  const auto words = random_words(4, 4);
  std::vector<double> normals(4);
  EXPECT_THROW(normals_from_words(std::span(words).first(3), std::span(normals).first(3)), InputError);
  EXPECT_THROW(normals_from_words(std::span(words).first(2), normals), InputError);
  EXPECT_THROW(normals_from_words(words, normals, 3), InputError);
  EXPECT_THROW(normals_from_words(words, normals, 2 * widest_lanes()), InputError);
}

double kolmogorov_distance(std::vector<double> sample, double scale) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double below = std::erfc(-sample[i] / scale / std::numbers::sqrt2) / 2;
    distance = std::max({distance, below - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - below});
  }
  return distance * std::sqrt(n);
}

// Kolmogorov and Smirnov on 10^6 draws. Above 2.5 with chance 2 exp(-12.5) = 7.5e-6; a scale wrong by 2% stands at 4.8.
TEST(Gaussian, DrawsAreNormal) {
  const auto normals = normals_of(random_words(5, 1000000));
  EXPECT_LT(kolmogorov_distance(normals, 1), 2.5);
  EXPECT_GT(kolmogorov_distance(normals, .98), 2.5);
  EXPECT_GT(kolmogorov_distance(normals, 1.02), 2.5);
}

// Mean, variance, skewness and kurtosis of 2^20 draws, each within 5 of its standard deviations: false alarm 2.3e-6.
TEST(Gaussian, FirstFourMomentsAreThoseOfANormal) {
  const auto normals = normals_of(random_words(6, 1 << 20));
  double moment[5] = {};
  for (const double x : normals)
    for (int power = 1; power <= 4; ++power) moment[power] += std::pow(x, power) * 0x1p-20;
  const double root_n = 1024;
  EXPECT_LT(std::abs(moment[1]) * root_n, 5);
  EXPECT_LT(std::abs(moment[2] - 1) * root_n, 5 * std::sqrt(2.));
  EXPECT_LT(std::abs(moment[3]) * root_n, 5 * std::sqrt(15.));
  EXPECT_LT(std::abs(moment[4] - 3) * root_n, 5 * std::sqrt(96.));
}

// Two-sided counts of 2^25 draws beyond 3, 4 and 5 sigma: 90,590, 2,125 and 19.2 are expected. Accepted are 5 standard deviations for the
// first two and 3 to 46 for the last (Poisson: 9e-7 below, 6e-8 above): false alarm 2.1e-6. A tail that ends at 5 sigma gives none.
TEST(Gaussian, TailsHaveTheirMass) {
  const RandomStream stream(RunKey::from_insecure_seed(7), Purpose::noise);
  std::vector<std::uint64_t> words(8192);
  std::vector<double> normals(words.size());
  std::int64_t beyond3 = 0, beyond4 = 0, beyond5 = 0;
  for (std::uint32_t block = 0; block < 4096; ++block) {
    stream.fill(0, block, words);
    normals_from_words(words, normals);
    for (const double x : normals) beyond3 += std::abs(x) > 3, beyond4 += std::abs(x) > 4, beyond5 += std::abs(x) > 5;
  }
  const double expected3 = 0x1p25 * std::erfc(3 / std::numbers::sqrt2), expected4 = 0x1p25 * std::erfc(4 / std::numbers::sqrt2);
  EXPECT_LT(std::abs(static_cast<double>(beyond3) - expected3), 5 * std::sqrt(expected3));
  EXPECT_LT(std::abs(static_cast<double>(beyond4) - expected4), 5 * std::sqrt(expected4));
  EXPECT_GE(beyond5, 3);
  EXPECT_LE(beyond5, 46);
}

// Standard deviations of a sample correlation from none: about N(0, 1) for independent samples.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double aa = 0, bb = 0, ab = 0, mean_a = 0, mean_b = 0;
  const double n = static_cast<double>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) mean_a += a[i] / n, mean_b += b[i] / n;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i] - mean_a, y = b[i] - mean_b;
    aa += x * x, bb += y * y, ab += x * y;
  }
  return ab / std::sqrt(aa * bb) * std::sqrt(n);
}

// Seven correlations of 2^19 pairs, each within 5: false alarm 4e-6. A correlation of 1% stands at 7.2.
TEST(Gaussian, TheTwoOfAPairAreIndependent) {
  const auto normals = normals_of(random_words(8, 1 << 20));
  std::vector<double> x, y, x2, y2, absolute_y, next_x, leaning;
  for (std::size_t i = 0; i < normals.size(); i += 2) {
    const double a = normals[i], b = normals[i + 1];
    x.push_back(a), y.push_back(b), x2.push_back(a * a), y2.push_back(b * b), absolute_y.push_back(std::abs(b));
    next_x.push_back(normals[(i + 2) % normals.size()]), leaning.push_back(b + .01 * a);
  }
  EXPECT_LT(std::abs(correlation(x, y)), 5);
  EXPECT_LT(std::abs(correlation(x2, y2)), 5);
  EXPECT_LT(std::abs(correlation(x, y2)), 5);
  EXPECT_LT(std::abs(correlation(x2, y)), 5);
  EXPECT_LT(std::abs(correlation(x, absolute_y)), 5);
  EXPECT_LT(std::abs(correlation(y, next_x)), 5);
  EXPECT_LT(std::abs(correlation(x, next_x)), 5);
  EXPECT_GT(correlation(x, leaning), 5);
}

}  // namespace
}  // namespace fodp
