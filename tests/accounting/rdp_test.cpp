#include "fodp/accounting/rdp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Events run(double sample_rate, double noise_multiplier, std::int64_t steps) {
  return {{Event::poisson_gaussian(sample_rate, noise_multiplier), steps}};
}

// Integral of the definition in 60-digit arithmetic (mpmath), by the trapezoid rule and checked by Gauss-Legendre.
struct Precise {
  double sample_rate, noise_multiplier, order, rdp;
};
constexpr Precise kPrecise[] = {
    {1e-7, .3, 1.001, 1.9887093925941535e-10}, {1e-7, .3, 7.5, 23.068863992483993},         {1e-7, .3, 500.5, 2764.4051914448358},
    {1e-7, 200, 1.001, 1.251265640752214e-19}, {1e-7, 200, 500.3, 6.2538281803173039e-17},  {1e-7, 1.1, 1.5, 9.6388745687300585e-15},
    {1e-5, 1, 20.3, 1.7449194498129394e-9},    {1e-5, 1, 22.7, 1.5393564173811654e-8},      {.0001, 1.5, 41.9, .00015119858209217653},
    {.001, .3, 2.7, 4.0294921948116572},       {.01, 200, 250.75, 3.1346071680383877e-7},   {.01106, .9689, 245.367, 126.16289999032923},
    {.04, 1.1, 2.2005, .0022896114127991902},  {.0213, .2025, 1.34571, 2.7752149829670948}, {.4, 12, 59.25, .036544707403508742},
    {.5, .3, 1.001, 2.2129683683589596},       {.9, 5, 120.2, 2.2987094022450895},          {.99, .7, 3.5, 3.5574441837836733},
};

TEST(Rdp, IsExactAndRoundedUp) {
  for (const auto& [q, z, order, exact] : kPrecise) {
    SCOPED_TRACE(testing::Message() << "q " << q << " z " << z << " order " << order);
    const double rdp = sampled_gaussian_rdp(q, z, order);
    EXPECT_GE(rdp, exact);
    EXPECT_LE(rdp, exact * (1 + 2e-12));
  }
}

// Values of public test suites, each with the relative tolerance that its source claims.
struct Published {
  double sample_rate, noise_multiplier;
  std::int64_t steps;
  double order, rdp, tolerance;
};
constexpr Published kPublished[] = {
    // google/differential-privacy@b5b0286 python/dp_accounting/dp_accounting/rdp/rdp_privacy_accountant_test.py: test_log_a_frac_positive
    // and the parameters of test_compute_log_a_equals_mp. The value at (1e-6, 1, 27) is 1.6e-5 above the exact 3.3728889634032684e-11.
    {1e-7, .1, 1, 1.01, 4.003412322526314e-6, 1e-4},
    {1e-6, .1, 1, 256, 12786.130310969258, 1e-4},
    {1e-6, 1, 1, 27, 3.3729429505823506e-11, 1e-4},
    {1e-5, .1, 1, 256.1, 12793.441943506159, 1e-4},
    {.1, 100, 1, 20.5, 1.0252214593881394e-5, 1e-4},
    {.4, 12, 1, 58.5, .03603111431281583, 1e-9},
    {.4, 12, 1, 59, .03637334679495876, 1e-9},
    {.4, 12, 1, 59.25, .03654470740350934, 1e-9},
    {.99, .1, 1, 256, 12799.989910251064, 1e-4},
    // yuxiangw/autodp@06489ea test/unit_test_dp_sgd_poisson_sampling_add_remove.py
    {.01, .1, 1, 1.25, 39.47435359280898, 1e-9},
    {.01, .1, 1, 2.25, 104.21069366522143, 1e-9},
    {.01, .1, 1, 10, 494.8831442377909, 1e-9},
    {.01, .5, 1, 2.25, .0083541177519165, 1e-9},
    {.01, .5, 1, 4.5, 3.0791796010526946, 1e-9},
    {.01, .5, 1, 10, 14.883144237791036, 1e-9},
    {.01, 1, 1, 4, .00036315404891075525, 1e-9},
    {.01, 1, 1, 25, 7.70294772682218, 1e-9},
    {.01, 2, 1, 1.25, 1.7710637990830963e-5, 1e-9},
    {.01, 2, 1, 2, 2.8402138324210935e-5, 1e-9},
    {.01, 2, 1, 4.5, 6.440025440052329e-5, 1e-9},
    {.01, 2, 1, 25, .0003829780935648833, 1e-9},
    {.01, 10, 1, 2, 1.005016203373883e-6, 1e-9},
    {.01, 10, 1, 25, 1.259163330476561e-5, 1e-9},
    {.01, 10, 1, 64, 3.2361212985515655e-5, 1e-9},
    {.01, 10, 1, 128, 6.514386177732818e-5, 1e-9},
    {.05, 1, 10000, 4, 114.16268872652871, 1e-9},
    {.05, 1, 10000, 4.5, 143.7879709925404, 1e-9},
    {.05, 1, 10000, 10, 16740.60563785817, 1e-9},
    {.05, 1, 10000, 128, 609806.7928334716, 1e-9},
    {.1, .5, 1, 1.25, .09126475987344684, 1e-9},
    {.1, .5, 1, 2, .42916959059789994, 1e-9},
    {.1, .5, 1, 2.25, .7688994086444522, 1e-9},
    {.1, .5, 1, 4, 4.929960718132623, 1e-9},
    {.1, .5, 1, 128, 253.67928431572255, 1e-9},
    {.1, 1, 1, 2, .017036863236176647, 1e-9},
    {.1, 1, 1, 64, 29.66086593727589, 1e-9},
    {.1, 2, 1, 2.25, .0032125121598688307, 1e-9},
    {.1, 10, 1, 25, .001283133366967998, 1e-9},
    {.1, 10, 1, 64, .0034110637562587477, 1e-9},
    {.2, 1, 1, 2, .06647221890559733, 1e-9},
    {.2, 1, 1, 2.25, .08026393760128477, 1e-9},
    {.2, 1, 1, 10, 3.212286119795191, 1e-9},
    {1, 10, 1, 8, .04, 1e-9},
    // tensorflow/privacy@09270af tensorflow_privacy/privacy/analysis/rdp_accountant_test.py test_compute_rdp_sequence
    {.01, 2.5, 50, 5, .00218075, 1e-5},
    {.01, 2.5, 50, 50, .023846, 1e-5},
};

TEST(Rdp, MeetsPublishedValues) {
  const RdpAccountant accountant;
  for (const auto& [q, z, steps, order, expected, tolerance] : kPublished)
    EXPECT_NEAR(accountant.rdp(run(q, z, steps), order) / expected, 1, tolerance) << "q " << q << " z " << z << " order " << order;
}

// The binomial sum in long double, with all its terms: cancels where A is near 1, so only for A well above.
double binomial_rdp(long double q, long double z, int order) {
  long double sum = 0;
  for (int k = 0; k <= order; ++k) {
    const long double log_binomial = std::lgamma(order + 1.L) - std::lgamma(k + 1.L) - std::lgamma(order - k + 1.L);
    sum += std::exp(log_binomial + (order - k) * std::log(1 - q) + k * std::log(q) + k * (k - 1.L) / (2 * z * z));
  }
  return static_cast<double>(std::log(sum) / (order - 1));
}

TEST(Rdp, AgreesWithTheBinomialSumAtIntegers) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> uniform;
  int compared = 0;
  for (int i = 0; i < 400; ++i) {
    const double q = std::pow(10, -4 * uniform(generator)), z = .3 * std::pow(30, uniform(generator));
    const int order = 2 + static_cast<int>(std::pow(60, uniform(generator)));
    const double expected = binomial_rdp(q, z, order);
    if (!(expected * (order - 1) > 1e-3 && expected < kInfinity)) continue;
    ++compared;
    EXPECT_NEAR(sampled_gaussian_rdp(q, z, order) / expected, 1, 1e-11) << "q " << q << " z " << z << " order " << order;
  }
  EXPECT_GT(compared, 200);
}

// Integers up to 32 use the sum, their neighbours the integral: the two must join.
TEST(Rdp, IsContinuousAtIntegers) {
  for (double q : {1e-7, 1e-3, .04, .5, .99})
    for (double z : {.06, .3, 1.1, 10., 200.})
      for (double order : {2., 5., 32.}) {
        const double at = sampled_gaussian_rdp(q, z, order);
        const double below = sampled_gaussian_rdp(q, z, order - 1e-9), above = sampled_gaussian_rdp(q, z, order + 1e-9);
        EXPECT_LE(below, at * (1 + 1e-13)) << "q " << q << " z " << z << " order " << order;
        EXPECT_LE(at, above * (1 + 1e-13)) << "q " << q << " z " << z << " order " << order;
        EXPECT_NEAR(above / below, 1, 1e-6) << "q " << q << " z " << z << " order " << order;
      }
}

TEST(Rdp, GrowsWithTheOrderAndTheRateAndFallsWithTheNoise) {
  for (double q : {1e-7, 1e-3, .04, .5})
    for (double z : {1e-4, .01, .049, .051, .3, 1.1, 20.})
      for (double a : {1.0001, 1.01, 1.7, 2.2, 9.5, 33.3, 400.7, 2000.}) {
        SCOPED_TRACE(testing::Message() << "q " << q << " z " << z << " order " << a);
        const double rdp = sampled_gaussian_rdp(q, z, a);
        EXPECT_GT(rdp, 0);
        EXPECT_LE(rdp, a / (2 * z * z));
        EXPECT_LE(rdp, sampled_gaussian_rdp(q, z, a * 1.1) * (1 + 1e-12));
        EXPECT_LE(rdp, sampled_gaussian_rdp(q * 1.5, z, a) * (1 + 1e-12));
        EXPECT_GE(rdp, sampled_gaussian_rdp(q, z * 1.5, a) * (1 - 1e-12));
      }
}

// Below a noise of .05 a chord between integers stands in for the integral: at least the truth, not far above.
TEST(Rdp, OfTinyNoiseIsAnUpperBound) {
  // mpmath, as above.
  constexpr Precise rows[] = {
      {0.01, 0.04, 1.3, 386.29426252738494},
      {0.01, 0.04, 2.6, 805.01659844776935},
      {0.5, 0.02, 1.05, 1297.9439092082412},
      {0.0001, 0.03, 3.5, 1931.5499679236779},
  };
  for (const auto& [q, z, order, exact] : rows) {
    SCOPED_TRACE(testing::Message() << "q " << q << " z " << z << " order " << order);
    EXPECT_GE(sampled_gaussian_rdp(q, z, order), exact);
    EXPECT_LE(sampled_gaussian_rdp(q, z, order), exact * 1.1);
  }
}

TEST(Rdp, OfThePlainGaussianIsItsFormula) {
  EXPECT_EQ(sampled_gaussian_rdp(1, 2, 3), .375);
  EXPECT_EQ(sampled_gaussian_rdp(1, .5, 1.25), 2.5);
  EXPECT_EQ(RdpAccountant().rdp({{Event::gaussian(2), 10}}, 3), 3.75);
}

TEST(Rdp, ApproachesThePlainGaussianAsTheRateApproachesOne) { EXPECT_NEAR(sampled_gaussian_rdp(1 - 1e-9, 2, 3.5) / (3.5 / 8), 1, 1e-8); }

TEST(Rdp, IsNeverNanNorNegative) {
  const double smallest = std::numeric_limits<double>::denorm_min();
  for (double q : {smallest, 1e-300, 1e-20, 1e-7, .5, 1 - 1e-16, 1.})
    for (double z : {0., smallest, 1e-200, 1.2e-154, 1e-20, 1e-3, .05, 1., 1e3, 1e100, 1e200, kInfinity})
      for (double order : {1 + 1e-15, 1.5, 2., 4., 32., 33., 1000., 1e9, 1e100, 1e308})
        EXPECT_GE(sampled_gaussian_rdp(q, z, order), 0) << "q " << q << " z " << z << " order " << order;  // false for NaN
}

TEST(Rdp, WithoutNoiseIsInfinite) {
  EXPECT_EQ(sampled_gaussian_rdp(.1, 0, 2), kInfinity);
  EXPECT_EQ(RdpAccountant().rdp({{Event::gaussian(0), 1}, {Event::gaussian(1), 1}}, 2), kInfinity);
  EXPECT_EQ(RdpAccountant().epsilon({{Event::gaussian(0), 1}}, 1e-5).epsilon, kInfinity);
  EXPECT_EQ(RdpAccountant().delta({{Event::gaussian(0), 1}}, 1e9).delta, 1);
}

TEST(Rdp, RefusesValuesOutOfRange) {
  for (double order : {1., .5, -3., kInfinity, kNan}) {
    EXPECT_THROW(sampled_gaussian_rdp(.1, 1, order), InputError) << order;
    EXPECT_THROW(RdpAccountant().rdp(run(.1, 1, 1), order), InputError) << order;
  }
  for (double q : {0., -.1, 1.1, kNan}) EXPECT_THROW(sampled_gaussian_rdp(q, 1, 2), InputError) << q;
  for (double z : {-1., kNan}) EXPECT_THROW(sampled_gaussian_rdp(.1, z, 2), InputError) << z;
}

// Reference values of the paper's setting (rate .04, 6250 steps, delta 1e-5), at sigma = 1.1 charged as 1.1 / beta.
TEST(RdpAccountant, MeetsTheReferenceEpsilons) {
  const Spent improved = RdpAccountant().epsilon(run(.04, 1.1, 6250), 1e-5);
  EXPECT_NEAR(improved.epsilon, 22.63727, 5e-6);
  EXPECT_NEAR(improved.order, 2.2005, 5e-5);
  EXPECT_EQ(improved.epsilon_lower, 0);
  EXPECT_EQ(improved.delta, 1e-5);
  EXPECT_NEAR(RdpAccountant(Conversion::classic).epsilon(run(.04, 1.1, 6250), 1e-5).epsilon, 23.88944, 5e-6);
  const std::pair<double, double> table[] = {{.95, 20.59}, {.9, 18.70}, {.8, 15.34}, {.65, 11.16}};
  for (const auto& [beta, epsilon] : table)
    EXPECT_NEAR(RdpAccountant().epsilon(run(.04, 1.1 / beta, 6250), 1e-5).epsilon, epsilon, .005) << beta;
}

// tensorflow/privacy@2cd46db tensorflow_privacy/privacy/analysis/compute_dp_sgd_privacy_test.py: least epsilon on that suite's grid of
// orders, so at most a little above ours. `tight` is the pessimistic estimate of Google's dp_accounting 0.6.0 by privacy loss
// distributions (connect the dots, interval 1e-4), rounded down.
TEST(RdpAccountant, LiesBetweenTheTightAndThePublishedEpsilon) {
  struct Row {
    double sample_rate, noise_multiplier;
    std::int64_t steps;
    double delta, tight, published;
  };
  constexpr Row rows[] = {
      {.01, .7, 120, 1e-5, 2.45, 3.2392676},
      {.0025, 1.3, 6000, 1e-5, .639, .7242234026109595},
      {.001, 1, 30000, 1e-7, 1.097, 1.4154988495444842},
      {.0064, 1, 782, 1e-6, 1.197, 1.6165},  // printed as 1.616
  };
  for (const Row& row : rows) {
    const double epsilon = RdpAccountant().epsilon(run(row.sample_rate, row.noise_multiplier, row.steps), row.delta).epsilon;
    EXPECT_LE(epsilon, row.published);
    EXPECT_GE(epsilon, row.published * .995);
    EXPECT_GE(epsilon, row.tight);
  }
}

double converted(Conversion conversion, double rdp, double order, double delta) {
  if (conversion == Conversion::classic) return rdp + std::log(1 / delta) / (order - 1);
  return rdp + std::log((order - 1) / order) - (std::log(delta) + std::log(order)) / (order - 1);
}

// Epsilon is what the conversion gives at its order, and no order of a dense grid gives less.
TEST(RdpAccountant, FindsTheLeastOverAllOrders) {
  for (Conversion conversion : {Conversion::improved, Conversion::classic})
    for (double q : {.001, .04, 1.})
      for (double z : {.3, 1.1, 30.})
        for (std::int64_t steps : {1, 6250})
          for (double delta : {1e-10, 1e-5}) {
            SCOPED_TRACE(testing::Message() << "q " << q << " z " << z << " T " << steps << " delta " << delta);
            const RdpAccountant accountant(conversion);
            const Events events = run(q, z, steps);
            double least = kInfinity;
            for (double x = -9; x < 13; x += .02) {
              const double order = 1 + std::exp(x);
              least = std::min(least, converted(conversion, accountant.rdp(events, order), order, delta));
            }
            const Spent spent = accountant.epsilon(events, delta);
            if (least <= 0) continue;
            EXPECT_LE(spent.epsilon, least * (1 + 1e-9));
            if (spent.epsilon > 0) {
              EXPECT_NEAR(spent.epsilon / converted(conversion, accountant.rdp(events, spent.order), spent.order, delta), 1, 1e-9);
            }
          }
}

// For the plain Gaussian the classic optimum is known: epsilon = rho + 2*sqrt(rho*log(1/delta)), rho = T/(2 z^2).
TEST(RdpAccountant, FindsTheClassicOptimumOfTheGaussian) {
  for (double z : {.5, 3., 100., 1e4})
    for (std::int64_t steps : {1, 50}) {
      const double rho = static_cast<double>(steps) / (2 * z * z), log_inverse_delta = std::log(1e6);
      const Spent spent = RdpAccountant(Conversion::classic).epsilon({{Event::gaussian(z), steps}}, 1e-6);
      EXPECT_NEAR(spent.epsilon / (rho + 2 * std::sqrt(rho * log_inverse_delta)), 1, 1e-9) << z;
      EXPECT_NEAR((spent.order - 1) / std::sqrt(log_inverse_delta / rho), 1, 1e-4) << z;
    }
}

// The exact delta of one Gaussian (Balle and Wang 2018, Theorem 8) is below, and the improved conversion is nearer to it.
TEST(RdpAccountant, IsAboveTheExactGaussian) {
  const auto normal_cdf = [](double x) { return std::erfc(-x / std::sqrt(2.)) / 2; };
  for (double z : {.7, 1., 5.})
    for (double epsilon : {.1, 1., 4.}) {
      const double exact = normal_cdf(.5 / z - epsilon * z) - std::exp(epsilon) * normal_cdf(-.5 / z - epsilon * z);
      const double improved = RdpAccountant().delta({{Event::gaussian(z), 1}}, epsilon).delta;
      const double classic = RdpAccountant(Conversion::classic).delta({{Event::gaussian(z), 1}}, epsilon).delta;
      EXPECT_LT(exact, improved);
      EXPECT_LE(improved, classic);
      EXPECT_LT(RdpAccountant().epsilon({{Event::gaussian(z), 1}}, 1e-5).epsilon,
                RdpAccountant(Conversion::classic).epsilon({{Event::gaussian(z), 1}}, 1e-5).epsilon);
    }
}

TEST(RdpAccountant, DeltaUndoesEpsilon) {
  for (Conversion conversion : {Conversion::improved, Conversion::classic})
    for (double delta : {1e-12, 1e-5, 1e-2}) {
      const RdpAccountant accountant(conversion);
      const Spent spent = accountant.epsilon(run(.04, 1.1, 100), delta);
      const Spent back = accountant.delta(run(.04, 1.1, 100), spent.epsilon);
      EXPECT_NEAR(back.delta / delta, 1, 1e-7);
      EXPECT_NEAR(back.order / spent.order, 1, 1e-3);
      EXPECT_EQ(back.epsilon, spent.epsilon);
    }
}

TEST(RdpAccountant, TrivialCasesCostNothing) {
  const RdpAccountant accountant;
  EXPECT_EQ(accountant.epsilon({}, 0).epsilon, 0);
  EXPECT_EQ(accountant.epsilon({{Event::gaussian(0), 0}}, 1e-5).epsilon, 0);
  EXPECT_EQ(accountant.rdp({{Event::gaussian(0), 0}}, 2), 0);
  EXPECT_EQ(accountant.epsilon({{Event::gaussian(0), 5}}, 1).epsilon, 0);
  EXPECT_EQ(accountant.delta({}, 0).delta, 0);
  EXPECT_EQ(accountant.delta({{Event::gaussian(0), 5}}, kInfinity).delta, 0);
  EXPECT_EQ(accountant.epsilon(run(.1, 1, 1), 0).epsilon, kInfinity);
}

// Two Gaussians 1/z apart differ by 2*Phi(1/(2z)) - 1 in total variation: from that delta on epsilon is 0, and never below 0.
TEST(RdpAccountant, EpsilonIsZeroWhereTotalVariationIsBelowDelta) {
  for (double z : {1e3, 1e6}) {
    const double distance = std::erf(.5 / z / std::sqrt(2.));
    EXPECT_EQ(RdpAccountant(Conversion::classic).epsilon({{Event::gaussian(z), 1}}, 2 * distance).epsilon, 0) << z;
    EXPECT_EQ(RdpAccountant().epsilon({{Event::gaussian(z), 1}}, 2 * distance).epsilon, 0) << z;
    EXPECT_EQ(RdpAccountant().epsilon({{Event::gaussian(z), 1}}, 1.6 * distance).epsilon, 0) << z;  // by the improved conversion alone
    EXPECT_GT(RdpAccountant().epsilon({{Event::gaussian(z), 1}}, .9 * distance).epsilon, 0) << z;
    const double delta = RdpAccountant().delta({{Event::gaussian(z), 1}}, 0).delta;
    EXPECT_GT(delta, distance) << z;
    EXPECT_LT(delta, 2 * distance) << z;
  }
}

TEST(RdpAccountant, EventsAddUpWhateverTheirOrder) {
  const Event a = Event::poisson_gaussian(.04, 1.1), b = Event::poisson_gaussian(.02, .9), c = Event::gaussian(20);
  const RdpAccountant accountant;
  const Events grouped{{a, 100}, {b, 50}, {c, 3}}, mixed{{c, 1}, {a, 60}, {b, 25}, {c, 2}, {b, 25}, {a, 40}};
  EXPECT_EQ(accountant.epsilon(grouped, 1e-5).epsilon, accountant.epsilon(mixed, 1e-5).epsilon);
  EXPECT_DOUBLE_EQ(accountant.rdp(mixed, 3.3), 100 * sampled_gaussian_rdp(.04, 1.1, 3.3) + 50 * sampled_gaussian_rdp(.02, .9, 3.3) +
                                                   3 * sampled_gaussian_rdp(1, 20, 3.3));
}

TEST(RdpAccountant, ChargesForSlack) {
  const RdpAccountant accountant;
  const double slack = accountant.epsilon({{Event::poisson_gaussian(.04, 1.1, .1), 100}}, 1e-5).epsilon;
  EXPECT_EQ(slack, accountant.epsilon(run(.04, 1.1 / 1.1, 100), 1e-5).epsilon);
  EXPECT_GT(slack, accountant.epsilon(run(.04, 1.1, 100), 1e-5).epsilon);
}

TEST(RdpAccountant, RefusesWhatItDoesNotKnow) {
  const RdpAccountant accountant;
  EXPECT_THROW(accountant.epsilon({{Event{nullptr, 1, 1}, 1}}, 1e-5), InputError);
  EXPECT_THROW(accountant.epsilon({{Event{&kPoissonGaussianEvent, 2, 1}, 1}}, 1e-5), InputError);
  EXPECT_THROW(accountant.epsilon({{Event{&kGaussianEvent, 1, kNan}, 1}}, 1e-5), InputError);
  EXPECT_THROW(accountant.epsilon({{Event::gaussian(1), -1}}, 1e-5), InputError);
  for (double delta : {-1e-9, 1.1, kNan}) EXPECT_THROW(accountant.epsilon(run(.1, 1, 1), delta), InputError) << delta;
  for (double epsilon : {-1e-9, kNan}) EXPECT_THROW(accountant.delta(run(.1, 1, 1), epsilon), InputError) << epsilon;
}

// An order that is not quite the best shows as an epsilon that falls from one step to the next.
TEST(RdpAccountant, EveryStepCosts) {
  const RdpAccountant accountant;
  for (const auto& [q, z] : {std::pair(1e-5, 3.), std::pair(.001, .7), std::pair(.04, 1.1)}) {
    double last = 0;
    for (std::int64_t steps = 20000; steps < 21000; ++steps) {
      const double epsilon = accountant.epsilon(run(q, z, steps), 1e-5).epsilon;
      ASSERT_GT(epsilon, last) << "q " << q << " z " << z << " T " << steps;
      last = epsilon;
    }
  }
}

TEST(MakeAccountant, GivesTheRenyiAccountantWithItsConversion) {
  EXPECT_EQ(make_accountant(AccountantKind::rdp)->name(), "rdp");
  for (Conversion conversion : {Conversion::improved, Conversion::classic})
    EXPECT_EQ(make_accountant(AccountantKind::rdp, conversion)->epsilon(run(.04, 1.1, 10), 1e-5).epsilon,
              RdpAccountant(conversion).epsilon(run(.04, 1.1, 10), 1e-5).epsilon);
}

TEST(MakeAccountant, GivesTheTightAccountant) { EXPECT_EQ(make_accountant(AccountantKind::pld)->name(), "pld"); }

TEST(Rdp, ManyUnlikeStepsAreNeverBelowTheirSumAndNear) {
  Events events;
  for (int t = 0; t < 500; ++t) events.push_back({Event::poisson_gaussian(.02 + 8e-5 * t, 1.1 - 6e-4 * t), 1});
  const RdpAccountant accountant;
  const Spent spent = accountant.epsilon(events, 1e-5);
  const double a = spent.order, exact = accountant.rdp(events, a) - std::log1p(1 / (a - 1)) - (std::log(1e-5) + std::log(a)) / (a - 1);
  EXPECT_GE(spent.epsilon, exact);
  EXPECT_LE(spent.epsilon, exact * (1 + 1e-3));
  EXPECT_NE(spent.epsilon, exact) << "not grouped at all";
}

}  // namespace
}  // namespace fodp
