#include "fodp/accounting/analytic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = std::numeric_limits<double>::epsilon();

// Gauss-Legendre with ten nodes on [-1, 1]: the positive half.
constexpr double kNodes[] = {.1488743389816312, .4333953941292472, .6794095682990244, .8650633666889845, .9739065285171717};
constexpr double kWeights[] = {.2955242247147529, .2692667193099964, .2190863625159820, .1494513491505806, .0666713443086881};

// The continued fraction exp(-x^2) / (sqrt(pi) * erfc(x)) = x + (1/2)/(x + 1/(x + (3/2)/(x + ...))) (Abramowitz and Stegun 7.1.14), for
// x >= 1, as x + .5 / inner.
double inner_fraction(double x) {
  double inner = x;
  for (int k = 30 + static_cast<int>(200 / (x * x)); k > 1; --k) inner = x + .5 * k / inner;
  return inner;
}

// The negative derivative of scaled_erfc. For x >= 1 the two terms of 1/sqrt(pi) - x*scaled_erfc(x) would cancel: their difference is
// taken from the continued fraction.
double scaled_erfc_slope(double x) {
  if (x < 1) return 2 * (std::numbers::inv_sqrtpi - x * scaled_erfc(x));
  const double inner = inner_fraction(x);
  return std::numbers::inv_sqrtpi / (inner * (x + .5 / inner));
}

// scaled_erfc(middle - half) - scaled_erfc(middle + half). Close to each other, as the integral of the negative derivative, which does not
// cancel.
double scaled_erfc_drop(double middle, double half) {
  if (half > .25 || middle - half < -1) return scaled_erfc(middle - half) - scaled_erfc(middle + half);
  double sum = 0;
  for (int i = 0; i < 5; ++i)
    sum += kWeights[i] * (scaled_erfc_slope(middle - half * kNodes[i]) + scaled_erfc_slope(middle + half * kNodes[i]));
  return half * sum;
}

// Least epsilon >= 0 with f(epsilon) <= delta for a falling f, between two neighbours on the number line of the search; `upper` tells
// which of the two.
template <class F>
double least_epsilon(const F& f, double delta, bool upper) {
  if (f(0.) <= delta) return 0;
  double low = 0, high = 1;
  while (f(high) > delta) {
    low = high, high *= 2;
    if (high > 1e300) return upper ? kInfinity : low;
  }
  if (low == 0) {
    while (high > 1e-300 && f(high / 2) <= delta) high /= 2;
    low = high / 2;
  }
  for (int i = 0; i < 200 && high - low > kUnit * high; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) <= delta ? high : low) = middle;
  }
  return upper ? high : low;
}

}  // namespace

double scaled_erfc(double x) {
  if (x < 3) return std::exp(x * x) * std::erfc(x);
  return std::numbers::inv_sqrtpi / (x + .5 / inner_fraction(x));
}

Interval gaussian_delta(double distance, double epsilon) {
  if (distance == 0 || std::isinf(epsilon)) return {0, 0};
  if (std::isinf(distance)) return {1, 1};
  const double shift = epsilon / distance, half = distance / 2;
  if (std::isinf(shift)) return {0, std::numeric_limits<double>::min()};
  const double a = (shift - half) / std::numbers::sqrt2, b = (shift + half) / std::numbers::sqrt2;  // their difference would cancel
  // exp(epsilon) * erfc(b) = exp(-a^2) * scaled_erfc(b), since b^2 - a^2 = epsilon.
  const double value = a < -1 ? .5 * (std::erfc(a) - std::exp(-a * a) * scaled_erfc(b))
                              : .5 * std::exp(-a * a) * scaled_erfc_drop(shift / std::numbers::sqrt2, half / std::numbers::sqrt2);
  // What rounding of a, of its square and of the functions does to the logarithm of the value.
  const double doubt = kUnit * (200 + 8 * a * a + 8 * (std::abs(a) + 1) * (shift + half));
  const double least = value > 0 ? value * std::exp(-doubt) : 0;
  return {least, std::min(1., std::max(value * std::exp(doubt), std::numeric_limits<double>::min()))};
}

Interval gaussian_epsilon(double distance, double delta) {
  if (std::isinf(distance)) return {kInfinity, kInfinity};
  return {least_epsilon([&](double epsilon) { return gaussian_delta(distance, epsilon).lower; }, delta, false),
          least_epsilon([&](double epsilon) { return gaussian_delta(distance, epsilon).upper; }, delta, true)};
}

double gaussian_distance(double epsilon, double delta) {
  double low = 0, high = 1;
  while (gaussian_delta(high, epsilon).upper <= delta) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (gaussian_delta(middle, epsilon).upper <= delta ? low : high) = middle;
  }
  return low;
}

// With e the likelihood ratio of the two normals where the mixture's is exp(+-epsilon), both directions are the plain Gaussian's delta at
// log e, scaled (the amplification by subsampling of Balle, Barthe and Gaboardi 2018, Theorem 2, with equality).
Interval sampled_gaussian_delta(double sample_rate, double noise_multiplier, double epsilon, Direction direction) {
  const double distance = 1 / noise_multiplier;
  if (sample_rate == 1) return gaussian_delta(distance, epsilon);
  if (std::isinf(epsilon)) return {0, 0};
  double log_ratio, scale;
  if (direction == Direction::remove) {
    log_ratio = epsilon < 30 ? std::log1p(std::expm1(epsilon) / sample_rate)
                             : epsilon - std::log(sample_rate) + std::log1p(-(1 - sample_rate) * std::exp(-epsilon));
    scale = sample_rate;
  } else {
    const double ratio = (std::expm1(-epsilon) + sample_rate) / sample_rate;
    if (!(ratio > 0)) return {0, 0};
    log_ratio = -std::log1p(std::expm1(-epsilon) / sample_rate);
    scale = std::exp(epsilon) * sample_rate * ratio;
  }
  // The Gaussian's delta is smooth in the ratio: an error of d in its logarithm costs at most a factor (1 + d*(log_ratio*z^2 + 1)).
  const double doubt = 16 * kUnit * (1 + std::abs(log_ratio)) / std::min(1., direction == Direction::add ? scale / sample_rate : 1.) *
                       (1 + (log_ratio + 1) * noise_multiplier * noise_multiplier);
  const Interval gaussian = gaussian_delta(distance, std::max(0., log_ratio));
  const double widen = std::exp(std::min(700., doubt));
  return {std::min(1., scale * gaussian.lower / widen), std::min(1., scale * gaussian.upper * widen)};
}

Interval sampled_gaussian_epsilon(double sample_rate, double noise_multiplier, double delta, Direction direction) {
  const auto delta_at = [&](double epsilon) { return sampled_gaussian_delta(sample_rate, noise_multiplier, epsilon, direction); };
  return {least_epsilon([&](double epsilon) { return delta_at(epsilon).lower; }, delta, false),
          least_epsilon([&](double epsilon) { return delta_at(epsilon).upper; }, delta, true)};
}

}  // namespace fodp
