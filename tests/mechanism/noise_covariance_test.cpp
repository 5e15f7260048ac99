#include "fodp/mechanism/noise_covariance.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace fodp {
namespace {

using Vector = std::vector<double>;

// Every release written out as a sum of the fresh noises, each of variance 1.
class Expansion {
 public:
  void add(double beta, double fresh_variance, const Vector& weights) {
    Vector release(past_.size() + 1, 0.0);
    for (std::size_t j = 0; j < weights.size(); ++j) mix(release, weights[j], past_[past_.size() - 1 - j]);
    release[past_.size()] += beta * std::sqrt(fresh_variance);
    past_.push_back(release);
  }
  double newest() const { return square(past_.back()); }
  double of_blend(const Vector& weights) const {
    Vector blend(past_.size(), 0.0);
    for (std::size_t j = 0; j < weights.size(); ++j) mix(blend, weights[j], past_[past_.size() - 1 - j]);
    return square(blend);
  }

 private:
  static void mix(Vector& to, double weight, const Vector& from) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] += weight * from[i];
  }
  static double square(const Vector& v) {
    double sum = 0;
    for (double x : v) sum += x * x;
    return sum;
  }

  std::vector<Vector> past_;  // oldest first
};

TEST(NoiseCovariance, AgreesWithEveryReleaseWrittenOut) {
  std::mt19937_64 engine(4);
  std::uniform_real_distribution<double> uniform(-.3, .6), positive(.1, 2);
  for (std::int64_t window : {1, 2, 3, 5, 9}) {
    NoiseCovariance covariance(window);
    Expansion expansion;
    for (std::int64_t t = 0; t < 25; ++t) {
      const auto random_weights = [&](std::int64_t lags) {
        Vector weights(std::min(lags, window - 1));
        for (double& weight : weights) weight = uniform(engine);
        return weights;
      };
      const Vector weights = random_weights(t);
      const double beta = positive(engine), variance = positive(engine);
      covariance.add(beta, variance, weights);
      expansion.add(beta, variance, weights);
      ASSERT_NEAR(covariance.newest(), expansion.newest(), 1e-9 * expansion.newest()) << window << ", step " << t;
      const Vector blend = random_weights(t + 1);
      ASSERT_NEAR(covariance.of_blend(blend), expansion.of_blend(blend), 1e-9 * (1 + expansion.of_blend(blend)))
          << window << ", step " << t;
    }
  }
}

// K = 2: v <- beta^2*f + (1-beta)^2*v.
TEST(NoiseCovariance, AnExponentialAverageByHand) {
  NoiseCovariance covariance(2);
  covariance.add(.5, 4, {});
  EXPECT_EQ(covariance.newest(), 1);
  covariance.add(.5, 4, std::vector<double>{.5});
  EXPECT_EQ(covariance.newest(), 1.25);
  covariance.add(.5, 4, std::vector<double>{.5});
  EXPECT_EQ(covariance.newest(), 1.3125);
}

// A release that repeats the last one has all of its noise, and the two together twice its deviation.
TEST(NoiseCovariance, ARepeatedReleaseIsFullyCorrelated) {
  NoiseCovariance covariance(3);
  covariance.add(1, 9, {});
  covariance.add(1, 0, std::vector<double>{1});
  EXPECT_EQ(covariance.newest(), 9);
  EXPECT_EQ(covariance.of_blend(std::vector<double>{1, 1}), 36);
  EXPECT_EQ(covariance.of_blend(std::vector<double>{1, -1}), 0);
}

}  // namespace
}  // namespace fodp
