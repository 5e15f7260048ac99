#include "fodp/mechanism/power_law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "mechanism/plain_power_law.h"

namespace fodp {
namespace {

// Tails of many kinds: true power laws, spread widely, clustered, and with equal values.
std::vector<double> random_values(std::mt19937_64& engine) {
  std::uniform_int_distribution<int> sizes(0, 60), kinds(0, 3);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> values(sizes(engine));
  const int kind = kinds(engine);
  for (double& value : values) {
    const double u = uniform(engine);
    if (kind == 0) value = std::pow(1 - u, -1 / 1.5);
    if (kind == 1) value = std::exp(40 * (u - .8));
    if (kind == 2) value = 1 + .01 * u;
    if (kind == 3) value = 1 + std::floor(6 * u);
  }
  return values;
}

TEST(PowerLaw, AgreesWithThePlainForm) {
  std::mt19937_64 engine(5);
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<double> values = random_values(engine);
    const auto expected = plain::power_law_exponent(values), actual = power_law_exponent(values);
    ASSERT_EQ(actual.has_value(), expected.has_value()) << "case " << i;
    if (!actual) continue;
    ++found;
    ASSERT_NEAR(*actual, *expected, 1e-12 * *expected) << "case " << i;
  }
  EXPECT_GT(found, 2000);
}

// Five values have one tail, all of them: exponent 1 + 5/(log 2 + 2 log 4 + log 8) = 1 + 5/(8 log 2).
TEST(PowerLaw, OneTailByHand) { EXPECT_NEAR(*power_law_exponent({4, 1, 8, 2, 4}), 1 + 5 / (8 * std::log(2.)), 1e-14); }

// Six values, two tails: all of them are .478 from their law, the five without the 1 .313 from theirs.
TEST(PowerLaw, TheTailNearestToItsLawIsTaken) {
  EXPECT_NEAR(*power_law_exponent({1, 1000, 2000, 4000, 4000, 8000}), 1 + 5 / (8 * std::log(2.)), 1e-12);
}

// Of a law of exponent rho the estimate has standard error about (rho-1)/sqrt(n); the tail chosen is shorter than n. Wide enough never to
// fail for another seed, narrow enough to tell the exponents apart.
TEST(PowerLaw, FindsTheExponentOfALaw) {
  std::mt19937_64 engine(8);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (double rho : {1.5, 2.5, 4.}) {
    std::vector<double> values(2000);
    for (double& value : values) value = std::pow(1 - uniform(engine), -1 / (rho - 1));
    EXPECT_NEAR(*power_law_exponent(values), rho, .25 * (rho - 1)) << rho;
  }
}

TEST(PowerLaw, IsOfTheValuesWhateverTheirOrderAndUnit) {
  std::mt19937_64 engine(2);
  for (int i = 0; i < 50; ++i) {
    std::vector<double> values = random_values(engine);
    const auto before = power_law_exponent(values);
    std::ranges::shuffle(values, engine);
    EXPECT_EQ(power_law_exponent(values), before);
    for (double& value : values) value *= 1024;
    EXPECT_EQ(power_law_exponent(values), before);
  }
}

TEST(PowerLaw, FewerThanFiveValuesHaveNone) {
  EXPECT_FALSE(power_law_exponent({}));
  EXPECT_FALSE(power_law_exponent({1}));
  EXPECT_FALSE(power_law_exponent({1, 2, 3, 4}));
  EXPECT_TRUE(power_law_exponent({1, 2, 3, 4, 5}));
}

TEST(PowerLaw, EqualValuesHaveNone) {
  EXPECT_FALSE(power_law_exponent(std::vector<double>(9, 3.0)));
  EXPECT_FALSE(power_law_exponent(std::vector<double>(9, 0.0)));
}

// The tail of a value holds all of its equals: the five 2s by themselves have no spread, so no exponent.
TEST(PowerLaw, EqualValuesAreOneCandidate) {
  EXPECT_NEAR(*power_law_exponent({1, 2, 2, 2, 2, 2}), 1 + 6 / (5 * std::log(2.)), 1e-14);
  EXPECT_EQ(power_law_exponent({1, 1, 1, 2, 2, 4, 4, 8}), plain::power_law_exponent({1, 1, 1, 2, 2, 4, 4, 8}));
}

TEST(PowerLaw, TinyValuesAreLeftOut) {
  const std::vector<double> values = {1, 2, 4, 4, 8};
  std::vector<double> more = values;
  for (double tiny : {0., 1e-300, 8e-12, 7e-12}) more.push_back(tiny);
  EXPECT_EQ(power_law_exponent(more), power_law_exponent(values));
  EXPECT_FALSE(power_law_exponent({1, 2, 3, 4, 4e-12, 0}));
  EXPECT_TRUE(power_law_exponent({1, 2, 3, 4, 4.1e-12}));
}

TEST(PowerLaw, ValuesThatAreNotFiniteHaveNone) {
  EXPECT_FALSE(power_law_exponent({1, 2, 3, 4, 5, std::numeric_limits<double>::infinity()}));
}

}  // namespace
}  // namespace fodp
