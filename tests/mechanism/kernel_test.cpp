#include "fodp/mechanism/kernel.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace fodp {
namespace {

FractionalParameters with(FractionalOptions options) { return resolve(options, 1, 100); }

TEST(Kernel, DefaultsAreTheMainSetting) {
  const FractionalParameters p = resolve({}, 2, 100);
  EXPECT_EQ(p.beta, .9);
  EXPECT_EQ(p.alpha, .8);
  EXPECT_EQ(p.window, 8);
  EXPECT_EQ(p.kappa, 2e-6);
  EXPECT_EQ(p.zeta, 2);
  EXPECT_EQ(resolve({.zeta = ConfidenceScale{.noise_norm = true}}, 2, 100).zeta, 100);
}

TEST(Kernel, CurrentSetsBetaToOneAndTakesNoOther) {
  EXPECT_EQ(with({.kernel = Kernel::current}).beta, 1);
  EXPECT_EQ(with({.beta = 1, .kernel = Kernel::current}).beta, 1);
  EXPECT_THROW(with({.beta = .9, .kernel = Kernel::current}), InputError);
}

TEST(Kernel, ValuesOutOfRangeAreNamed) {
  for (const FractionalOptions& bad :
       {FractionalOptions{.beta = 0}, FractionalOptions{.beta = 1.1}, FractionalOptions{.alpha = 0}, FractionalOptions{.window = 0},
        FractionalOptions{.lambda = -1}, FractionalOptions{.tau = NAN}, FractionalOptions{.gamma = 0}, FractionalOptions{.kappa = 0},
        FractionalOptions{.stability = 0}, FractionalOptions{.kernel_decay = 1}, FractionalOptions{.lag_origin = 2}})
    EXPECT_THROW(with(bad), InputError);
}

TEST(Kernel, CoefficientsByHand) {
  // alpha .5, lambda .25, chi .5, tau .2: a_j = (j+1)^-.5 * exp(-(.25 + .1*nu_j)*j)
  const FractionalParameters p = with({.alpha = .5, .lambda = .25, .tau = .2});
  const std::vector<double> scores = {1, 3};
  const std::vector<double> logs = log_coefficients(p, .5, scores);
  EXPECT_DOUBLE_EQ(std::exp(logs[0]), std::pow(2, -.5) * std::exp(-.35));
  EXPECT_DOUBLE_EQ(std::exp(logs[1]), std::pow(3, -.5) * std::exp(-1.1));
  // Lag origin 0: j-1 in place of j, the score still belongs to lag j.
  const std::vector<double> shifted = log_coefficients(with({.alpha = .5, .lambda = .25, .tau = .2, .lag_origin = 0}), .5, scores);
  EXPECT_DOUBLE_EQ(std::exp(shifted[0]), 1);
  EXPECT_DOUBLE_EQ(std::exp(shifted[1]), std::pow(2, -.5) * std::exp(-.55));
}

TEST(Kernel, GrunwaldWeightsAreTheBinomialOnes) {
  // Gamma(j+alpha)/(Gamma(alpha) j!) = prod_{i=1..j} (alpha+i-1)/i
  const FractionalParameters p = with({.alpha = .3, .tau = 0, .kernel = Kernel::grunwald});
  const std::vector<double> logs = log_coefficients(p, 0, std::vector<double>(6, 0.0));
  double product = 1;
  for (int j = 1; j <= 6; ++j) {
    product *= (.3 + j - 1) / j;
    EXPECT_NEAR(std::exp(logs[j - 1]), product, 1e-14);
  }
}

TEST(Kernel, GrunwaldApproachesThePowerLaw) {
  const std::vector<double> none(2000, 0.0);
  const auto true_weights = log_coefficients(with({.alpha = .6, .tau = 0, .kernel = Kernel::grunwald}), 0, none);
  const auto power = log_coefficients(with({.alpha = .6, .tau = 0, .kernel = Kernel::tempered}), 0, none);
  const double near = true_weights[0] - power[0], far = true_weights[1999] - power[1999], limit = -std::lgamma(.6);
  EXPECT_GT(std::abs(near - limit), .01);
  EXPECT_LT(std::abs(far - limit), 1e-3);
}

TEST(Kernel, WeightsArePositiveAndSumToOne) {
  for (Kernel kernel : {Kernel::uniform, Kernel::exponential, Kernel::tempered, Kernel::confidence, Kernel::grunwald})
    for (double tau : {0.0, .1, 1.0, 50.0})
      for (double alpha : {.01, .5, 1.0})
        for (std::int64_t origin : {0, 1}) {
          const FractionalParameters p =
              with({.alpha = alpha, .window = 33, .lambda = .3, .tau = tau, .kernel = kernel, .lag_origin = origin});
          const std::vector<double> scores = {2, 3, .5, 4, 1, 0, 7, 2};
          const std::vector<double> weights = kernel_weights(p, .9, scores);
          EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-12);
          for (double weight : weights) EXPECT_GE(weight, 0);
          EXPECT_GT(weights[0], 0);
        }
}

TEST(Kernel, ExtremeTemperingLeavesLagOne) {
  const std::vector<double> weights = kernel_weights(with({.lambda = 1e6, .tau = 1e6}), 1, std::vector<double>(7, 1e6));
  EXPECT_EQ(weights[0], 1);
  for (std::size_t j = 1; j < weights.size(); ++j) EXPECT_EQ(weights[j], 0);
}

TEST(Kernel, UniformAndExponentialByHand) {
  const std::vector<double> none(3, 0.0);
  for (double weight : kernel_weights(with({.kernel = Kernel::uniform}), 0, none)) EXPECT_DOUBLE_EQ(weight, 1.0 / 3);
  const auto weights = kernel_weights(with({.kernel = Kernel::exponential}), 0, none);
  EXPECT_DOUBLE_EQ(weights[0], 4.0 / 7);
  EXPECT_DOUBLE_EQ(weights[2], 1.0 / 7);
}

// Paper B.5, one test each.
const std::vector<double> kScores = {2, .5, 3, 1};

TEST(KernelLimits, TauZeroIsTheTemperedPowerLaw) {
  EXPECT_EQ(log_coefficients(with({.lambda = .2, .tau = 0}), .7, kScores),
            log_coefficients(with({.lambda = .2, .tau = 5, .kernel = Kernel::tempered}), .7, kScores));
}

TEST(KernelLimits, LambdaAndTauZeroIsTheRawPowerLaw) {
  const auto logs = log_coefficients(with({.alpha = .3, .tau = 0}), .7, kScores);
  for (std::size_t j = 1; j <= logs.size(); ++j) EXPECT_DOUBLE_EQ(logs[j - 1], -.7 * std::log(j + 1.0));
}

TEST(KernelLimits, AlphaOneHasNoPowerLaw) {
  const auto logs = log_coefficients(with({.alpha = 1, .lambda = .2, .tau = .5}), .7, kScores);
  for (std::size_t j = 1; j <= logs.size(); ++j) EXPECT_DOUBLE_EQ(logs[j - 1], -(.2 + .7 * .5 * kScores[j - 1]) * j);
}

TEST(KernelLimits, NoConfidenceIsTheTemperedKernelAndFullConfidenceTheUndampedOne) {
  const FractionalParameters p = with({.lambda = .2, .tau = .5});
  EXPECT_EQ(log_coefficients(p, 0, kScores), log_coefficients(with({.lambda = .2, .kernel = Kernel::tempered}), 0, kScores));
  EXPECT_LT(confidence(p, 1e-9), 1e-8);
  EXPECT_GT(confidence(p, 1e9), 1 - 1e-8);
  EXPECT_EQ(confidence(p, 0), 0);
  const auto full = log_coefficients(p, 1, kScores);
  for (std::size_t j = 1; j <= full.size(); ++j) EXPECT_DOUBLE_EQ(full[j - 1], -.2 * std::log(j + 1.0) - (.2 + .5 * kScores[j - 1]) * j);
}

TEST(KernelLimits, CoefficientsDoNotIncreaseInTauScoreConfidenceOrLambda) {
  const auto at = [](double lambda, double tau, double chi, double score) {
    return log_coefficients(with({.lambda = lambda, .tau = tau}), chi, std::vector<double>(7, score));
  };
  const auto base = at(.1, .5, .4, 2);
  for (const auto& more : {at(.2, .5, .4, 2), at(.1, .6, .4, 2), at(.1, .5, .5, 2), at(.1, .5, .4, 2.5)})
    for (std::size_t j = 0; j < base.size(); ++j) EXPECT_LT(more[j], base[j]);
}

TEST(Kernel, ScoreFloorsTheTrend) {
  const FractionalParameters p = with({.kappa = .5, .stability = 1e-12});
  EXPECT_NEAR(inconsistency(p, 3, 2), 1.5, 1e-10);
  EXPECT_NEAR(inconsistency(p, 3, .1), 6, 1e-10);
  EXPECT_NEAR(inconsistency(p, 3, 0), 6, 1e-10);
}

}  // namespace
}  // namespace fodp
