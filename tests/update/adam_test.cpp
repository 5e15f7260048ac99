#include "fodp/update/adam.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

enum class Variant { plain, bias_corrected, decoupled_decay };

constexpr double kLot = 8, kRate = .05, kBeta1 = .8, kBeta2 = .9;
const AdamOptions kOptions = {.adam_beta1 = kBeta1, .adam_beta2 = kBeta2, .adam_stability = .03};

Adam make(Variant variant, const AdamOptions& options, double floor) {
  if (variant == Variant::bias_corrected) return Adam(options, AdamBcOptions{.adambc_floor = floor});
  if (variant == Variant::decoupled_decay) return Adam(options, AdamWOptions{.weight_decay = .2});
  return Adam(options);
}

// The sums of three steps for two parameters, and the noise's variance in each.
const std::vector<std::vector<float>> kSums = {{8, -2}, {-4, .5f}, {20, 3}};
const std::vector<double> kVariances = {16, 4, 30};

std::vector<std::vector<float>> steps(Variant variant, const std::vector<double>& variances, const AdamOptions& options = kOptions,
                                      double floor = .01) {
  Adam adam = make(variant, options, floor);
  std::vector<float> theta = {1, -2};
  std::vector<std::vector<float>> all;
  for (std::size_t t = 0; t < kSums.size(); ++t) {
    adam.apply(theta, {kSums[t], kLot, variances.empty() ? std::nullopt : std::optional(variances[t])}, kRate);
    all.push_back(theta);
  }
  return all;
}

// Moments as weighted sums over the steps instead of recursions.
double mean_of(std::size_t t, double beta, const auto& value) {
  double sum = 0, weights = 0;
  for (std::size_t s = 0; s <= t; ++s) {
    const double weight = std::pow(beta, double(t - s));
    sum += weight * value(s);
    weights += weight;
  }
  return sum / weights;
}

double first_moment(std::size_t t, std::size_t i) {
  return mean_of(t, kBeta1, [&](std::size_t s) { return kSums[s][i] / kLot; });
}
double second_moment(std::size_t t, std::size_t i) {
  return mean_of(t, kBeta2, [&](std::size_t s) { return std::pow(kSums[s][i] / kLot, 2); });
}

TEST(Adam, ByHand) {
  const auto theta = steps(Variant::plain, {});
  std::vector<double> expected = {1, -2};
  for (std::size_t t = 0; t < kSums.size(); ++t)
    for (std::size_t i = 0; i < 2; ++i) {
      expected[i] -= kRate * first_moment(t, i) / (std::sqrt(second_moment(t, i)) + .03);
      EXPECT_NEAR(theta[t][i], expected[i], 1e-6) << t;
    }
}

TEST(Adam, DecoupledDecayByHand) {
  const auto theta = steps(Variant::decoupled_decay, {});
  std::vector<double> expected = {1, -2};
  for (std::size_t t = 0; t < kSums.size(); ++t)
    for (std::size_t i = 0; i < 2; ++i) {
      expected[i] -= kRate * (first_moment(t, i) / (std::sqrt(second_moment(t, i)) + .03) + .2 * expected[i]);
      EXPECT_NEAR(theta[t][i], expected[i], 1e-6) << t;
    }
}

TEST(Adam, BiasCorrectedByHand) {
  const auto theta = steps(Variant::bias_corrected, kVariances);
  std::vector<double> expected = {1, -2};
  int floored = 0;
  for (std::size_t t = 0; t < kSums.size(); ++t)
    for (std::size_t i = 0; i < 2; ++i) {
      const double phi = mean_of(t, kBeta2, [&](std::size_t s) { return kVariances[s] / (kLot * kLot); });
      floored += second_moment(t, i) - phi < .01;
      expected[i] -= kRate * first_moment(t, i) / std::sqrt(std::max(second_moment(t, i) - phi, .01));
      EXPECT_NEAR(theta[t][i], expected[i], 1e-5) << t;
    }
  EXPECT_GT(floored, 0);
  EXPECT_LT(floored, 6);
}

TEST(Adam, BiasCorrectedWithoutNoiseIsAdamWithTheFloor) {
  AdamOptions options = kOptions;
  options.adam_stability = 1e-12;
  const double low = 1e-12, high = 100;  // below every second moment of these sums; above every one
  const auto plain = steps(Variant::plain, {}, options), corrected = steps(Variant::bias_corrected, {0, 0, 0}, options, low);
  for (std::size_t t = 0; t < kSums.size(); ++t)
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(plain[t][i], corrected[t][i], 1e-6);
  const auto floored = steps(Variant::bias_corrected, {0, 0, 0}, options, high);
  EXPECT_NEAR(floored[0][0], 1 - kRate * 1 / 10, 1e-6);
}

TEST(Adam, TheFirstStepHasTheLengthOfTheRate) {
  Adam adam({});
  std::vector<float> theta = {0, 0};
  adam.apply(theta, {std::vector<float>{.01f, -300}, 10, {}}, .1);
  EXPECT_NEAR(theta[0], -.1, 1e-5);
  EXPECT_NEAR(theta[1], .1, 1e-6);
}

TEST(Adam, AnUnknownNoiseVarianceIsRefusedByTheBiasCorrectedOneOnly) {
  EXPECT_THROW(steps(Variant::bias_corrected, {}), InputError);
  EXPECT_NO_THROW(steps(Variant::plain, {}));
  EXPECT_NO_THROW(steps(Variant::decoupled_decay, {}));
}

TEST(Adam, BadInputIsRefused) {
  EXPECT_THROW(Adam({.adam_beta1 = 1}), InputError);
  EXPECT_THROW(Adam({.adam_beta2 = -.1}), InputError);
  EXPECT_THROW(Adam({}, AdamBcOptions{.adambc_floor = 0}), InputError);
  EXPECT_THROW(Adam({}, AdamWOptions{.weight_decay = -1}), InputError);
  std::vector<float> theta = {0, 0};
  EXPECT_THROW(Adam({}).apply(theta, {std::vector<float>{1}, 1, {}}, 1), InputError);
}

}  // namespace
}  // namespace fodp
