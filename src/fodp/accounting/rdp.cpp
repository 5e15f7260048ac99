#include "fodp/accounting/rdp.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "fodp/accounting/groups.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What the arithmetic below may lose, and more: results are raised by this factor, so that they stay upper bounds.
constexpr double kRoundUp = 1 + 1e-12;

// Logarithm of a sum of terms given by their logarithms.
class LogSum {
 public:
  void add(double log_term) {
    if (log_term > largest_) {
      sum_ = sum_ * std::exp(largest_ - log_term) + 1;
      largest_ = log_term;
    } else if (log_term > -kInfinity) {
      sum_ += std::exp(log_term - largest_);
    }
  }
  double largest() const { return largest_; }
  double log() const { return largest_ + std::log(sum_); }  // -inf + log(0) for no terms

 private:
  double largest_ = -kInfinity;
  double sum_ = 0;
};

// log A from log(A - 1): a tiny A - 1 keeps its relative precision.
double log_one_plus_exp(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }

// log of h = r^a - 1 - a*(r - 1) >= 0, for r = 1 + q*(e^loss - 1) with the privacy loss of the plain Gaussian.
double log_excess(double q, double order, double loss) {
  const double above_one = order - 1;
  const double u = loss < 700 ? q * std::expm1(loss) : kInfinity;  // r - 1
  if (order * std::abs(u) < .1) {
    // Binomial series from its second term: the closed form would cancel.
    double term = .5 * order * above_one * u * u, sum = term;
    for (int k = 2; std::abs(term) > 1e-18 * sum && k < 60; ++k) sum += term *= (order - k) / (k + 1) * u;
    return std::log(sum);
  }
  const double log_r = loss < 700 ? std::log1p(u) : loss + std::log(q + (1 - q) * std::exp(-loss));
  const double power = above_one * log_r;
  if (power > 100) return log_r + power;  // the rest is below e^-100 * order of it
  return log_r + std::log(std::max(0., std::expm1(power) + above_one * std::expm1(-log_r)));
}

// Trapezoid rule for A - 1 = E[h(x)], x = z*t with t standard normal. r^a is analytic for |Im t| < pi*z and no larger there than on the
// real line, so that with step s the relative error is about exp(y^2/2 - 2*pi*y/s) for every y below pi*z (Trefethen and Weideman 2014).
class Quadrature {
 public:
  Quadrature(double q, double z, double order) : q_(q), z_(z), order_(order) {
    const double y = std::min(std::numbers::pi * z, std::sqrt(2 * kDigits));
    step_ = 2 * std::numbers::pi * y / (kDigits + y * y / 2);
  }

  // log(A - 1). The integrand has mass around t = 0..2/z and, where high powers of r dominate, around a second mode up to order/z. Both are
  // summed on one grid, each until the terms are negligible beside the largest.
  double log_excess_moment() {
    const std::int64_t begin = node(-kTail);
    std::int64_t end = node(2 / z_ + kTail);  // one past the last node of the left part
    std::int64_t right_begin = node(upper_mode());
    if (right_begin > end) {
      std::int64_t right_end = right_begin;
      for (double f; (f = log_term(right_end)) > sum_.largest() - kDigits; ++right_end) sum_.add(f);
      double last = -kInfinity;
      while (right_begin > end) {
        const double f = log_term(right_begin - 1);
        if (f < sum_.largest() - kDigits && f < last) break;
        sum_.add(last = f);
        --right_begin;
      }
    } else {
      right_begin = std::numeric_limits<std::int64_t>::max();
    }
    for (std::int64_t i = begin; i < end; ++i) sum_.add(log_term(i));
    for (double f; end < right_begin && (f = log_term(end)) > sum_.largest() - kDigits; ++end) sum_.add(f);
    return sum_.log() + std::log(step_ / std::sqrt(2 * std::numbers::pi));
  }

 private:
  static constexpr double kDigits = 46;  // e^-46 = 1e-20: what is negligible
  static constexpr double kTail = 10.5;  // a normal beyond is below e^-55

  std::int64_t node(double t) const { return static_cast<std::int64_t>(std::ceil(t / step_)); }

  double log_term(std::int64_t i) const {
    const double t = static_cast<double>(i) * step_;
    return log_excess(q_, order_, (t - .5 / z_) / z_) - t * t / 2;
  }

  // The largest stationary point of r^a * exp(-t^2/2): t = (a/z) * (share of the shifted Gaussian in the mixture at t).
  double upper_mode() const {
    double t = order_ / z_;
    for (int i = 0; i < 60; ++i) {
      const double odds = std::exp(std::log1p(-q_) - std::log(q_) - (t - .5 / z_) / z_);
      const double next = order_ / z_ / (1 + odds);
      if (t - next < .1) return next;
      t = next;
    }
    return t;
  }

  double q_, z_, order_, step_;
  LogSum sum_;
};

// log A at an integer order: the binomial sum of Mironov, Talwar and Zhang 2019, section 3.3, less the terms of A = 1, all positive.
double log_moment_at_integer(double q, double z, double order) {
  LogSum excess;
  double log_binomial = std::log(order);
  for (double k = 2; k <= order; ++k) {
    log_binomial += std::log((order - k + 1) / k);
    const double x = k * (k - 1) / (2 * z * z);
    const double log_expm1 = x > 40 ? x : std::log(std::expm1(x));
    excess.add(log_binomial + (order - k) * std::log1p(-q) + k * std::log(q) + log_expm1);
  }
  return log_one_plus_exp(excess.log());
}

// Upper bound of log A for noise too small for the quadrature: log A is convex in the order and 0 at order 1, so that a chord between
// integers lies above it.
double log_moment_by_chord(double q, double z, double order) {
  const double below = std::floor(order), share = order - below;
  const double log_below = below > 1 ? log_moment_at_integer(q, z, below) : 0;
  return share == 0 ? log_below : (1 - share) * log_below + share * log_moment_at_integer(q, z, below + 1);
}

// log A = (order - 1) * rdp, 0 < q < 1; +inf where no bound below the unsampled one is cheap. At most some 4000 nodes or terms.
double log_moment(double q, double z, double order) {
  constexpr double kLeastNoise = 1e-3, kLeastNoiseForQuadrature = .05;
  constexpr double kLargestMode = 1e8;  // beyond, squares of t lose their unit digit
  constexpr double kShortSum = 32;
  if (z < kLeastNoise) return kInfinity;
  if (order <= kShortSum && order == std::floor(order)) return log_moment_at_integer(q, z, order);
  if (z >= kLeastNoiseForQuadrature && order < kLargestMode * z) return log_one_plus_exp(Quadrature(q, z, order).log_excess_moment());
  return order < 1000 ? log_moment_by_chord(q, z, order) : kInfinity;
}

// One kind of step of a run, as often as it occurs; or a step that tosses a public coin for a second kind.
struct Part {
  double sample_rate, noise_multiplier;
  double count;
  double share = 0;  // chance of the second kind
  SampledGaussian other = {};
};

double rdp_of(double q, double z, double order) {
  const double unsampled = order / (2 * z * z);  // inf for z = 0, 0 for z = inf
  if (q == 1 || std::isinf(unsampled) || unsampled == 0) return unsampled;
  // Sampling never costs more than no sampling; where noise is tiny it hardly costs less.
  return std::min(log_moment(q, z, order) / (order - 1) * kRoundUp, unsampled);
}

double rdp_of(const Part& part, double order) {
  const double first = rdp_of(part.sample_rate, part.noise_multiplier, order);
  if (part.share == 0) return first;
  // A moment of a mixture is the mixture of the moments.
  const double second = rdp_of(part.other.sample_rate, part.other.noise_multiplier, order), above_one = order - 1;
  if (!(above_one * std::max(first, second) < 700)) return std::max(first, second);
  const double excess = (1 - part.share) * std::expm1(above_one * first) + part.share * std::expm1(above_one * second);
  return std::log1p(excess) / above_one * kRoundUp;
}

double rdp_of(const std::vector<Part>& parts, double order) {
  double total = 0;
  for (const Part& part : parts) total += part.count * rdp_of(part, order);
  return total;
}

void check_mechanism(double sample_rate, double noise_multiplier) {
  check_input(sample_rate > 0 && sample_rate <= 1, "sample rate is {}: must be in (0, 1]", sample_rate);
  check_input(noise_multiplier >= 0, "noise multiplier is {}: must be at least 0", noise_multiplier);
}

// The distinct steps, in an order that does not depend on that of the run: the same multiset of events gives the same bits.
std::vector<Part> parts_of(const Events& events) {
  std::vector<Part> parts;
  for (const Composed& composed : events) {
    const auto [rate, noise, records] = composed.event.for_accountant();
    const Part part{rate, noise, static_cast<double>(composed.count)};
    check_input(composed.count >= 0, "count of an event is {}: must be at least 0", composed.count);
    if (composed.count > 0) parts.push_back(part);
  }
  const auto key = [](const Part& part) { return std::pair(part.sample_rate, part.noise_multiplier); };
  std::sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (kept > 0 && key(parts[kept - 1]) == key(parts[i]))
      parts[kept - 1].count += parts[i].count;
    else
      parts[kept++] = parts[i];
  }
  parts.resize(kept);
  return parts;
}

// Many unlike steps in groups that cost at least as much (groups.h).
std::vector<Part> shortened(std::vector<Part> parts) {
  constexpr std::size_t kMostParts = 96;
  constexpr double kTolerance = 3e-4;
  if (parts.size() <= kMostParts) return parts;
  std::vector<Part> kept;
  std::vector<CountedStep> steps;
  for (const Part& part : parts) {
    if (part.sample_rate < 1 && part.noise_multiplier > 0 && std::isfinite(part.noise_multiplier))
      steps.push_back({{part.sample_rate, part.noise_multiplier}, part.count});
    else
      kept.push_back(part);
  }
  for (const Group& group : groups_above(steps, kTolerance))
    kept.push_back({group.low.sample_rate, group.low.noise_multiplier, group.count, group.share, group.high});
  return kept;
}

struct Least {
  double value, order;
};

// Least value of f over the orders. In x = log(order - 1) f falls, then rises: (order - 1)*rdp is convex in the order, as is what each
// conversion adds to it, so that the sublevel sets are intervals. It is infinite, if anywhere, at the high end.
template <class F>
Least least_over_orders(const F& f) {
  constexpr double kLow = -13.8, kHigh = 20.7;  // orders 1 + 1e-6 to 1e9
  constexpr double kStride = 1.4, kTolerance = 1e-7, kGolden = .3819660112501051;
  const auto order = [](double x) { return 1 + std::exp(x); };
  const auto at = [&](double x) { return f(order(x)); };

  // Three points around the least value.
  double x = 2, fx = at(x), low = x - kStride, high = x + kStride;
  if (double f_high = at(high); f_high < fx) {
    do low = x, x = high, fx = f_high, high = x + kStride;
    while (high < kHigh && (f_high = at(high)) < fx);
  } else {
    for (double f_low; low > kLow && ((f_low = at(low)) < fx || std::isinf(fx)); low -= kStride) high = x, x = low, fx = f_low;
  }

  // Brent 1973, chapter 5: a parabola through the best three, a golden section where that goes astray.
  double w = x, fw = fx, v = x, fv = fx, move = 0, before = 0;
  while (std::max(x - low, high - x) > 2 * kTolerance) {
    const double middle = (low + high) / 2;
    const double r = (x - w) * (fx - fv), s = (x - v) * (fx - fw);
    double numerator = (x - v) * s - (x - w) * r, denominator = 2 * (s - r);
    if (denominator > 0) numerator = -numerator;
    denominator = std::abs(denominator);
    const bool parabola = std::abs(before) > kTolerance && std::abs(numerator) < std::abs(denominator * before / 2) &&
                          numerator > denominator * (low - x) && numerator < denominator * (high - x);
    before = parabola ? move : (x < middle ? high - x : low - x);
    move = parabola ? numerator / denominator : kGolden * before;
    if (std::abs(move) < kTolerance) move = std::copysign(kTolerance, x < middle ? 1. : -1.);
    const double y = x + move, fy = at(y);
    if (fy <= fx) {
      (y < x ? high : low) = x;
      v = w, fv = fw, w = x, fw = fx, x = y, fx = fy;
    } else {
      (y < x ? low : high) = y;
      if (fy <= fw || w == x)
        v = w, fv = fw, w = y, fw = fy;
      else if (fy <= fv || v == x || v == w)
        v = y, fv = fy;
    }
  }
  return {fx, order(x)};
}

// No pair of neighbours is further apart in total variation than sqrt(1 - exp(-KL)) (Bretagnolle and Huber 1979), and a Renyi divergence
// is at least KL: at every epsilon >= 0 this is a valid delta.
Least total_variation_bound(const std::vector<Part>& parts) {
  constexpr double kOrder = 1 + 1e-6;
  return {std::sqrt(-std::expm1(-rdp_of(parts, kOrder))), kOrder};
}

}  // namespace

double sampled_gaussian_rdp(double sample_rate, double noise_multiplier, double order) {
  check_mechanism(sample_rate, noise_multiplier);
  check_input(order > 1 && std::isfinite(order), "Renyi order is {}: must be above 1", order);
  return rdp_of(sample_rate, noise_multiplier, order);
}

double RdpAccountant::rdp(const Events& events, double order) const {
  check_input(order > 1 && std::isfinite(order), "Renyi order is {}: must be above 1", order);
  return rdp_of(parts_of(events), order);
}

Spent RdpAccountant::epsilon(const Events& events, double delta) const {
  check_input(delta >= 0 && delta <= 1, "delta is {}: must be in [0, 1]", delta);
  const std::vector<Part> parts = shortened(parts_of(events));
  if (parts.empty() || delta == 1) return {.epsilon = 0, .delta = delta};
  if (const Least distance = total_variation_bound(parts); distance.value <= delta)
    return {.epsilon = 0, .delta = delta, .order = distance.order};

  const double log_delta = std::log(delta);
  const Least least = least_over_orders([&](double a) {
    const double rdp = rdp_of(parts, a);
    return conversion_ == Conversion::classic ? rdp - log_delta / (a - 1)
                                              : rdp - std::log1p(1 / (a - 1)) - (log_delta + std::log(a)) / (a - 1);
  });
  if (!(least.value < kInfinity)) return {.epsilon = kInfinity, .delta = delta};
  return {.epsilon = std::max(0., least.value), .delta = delta, .order = least.order};
}

Spent RdpAccountant::delta(const Events& events, double epsilon) const {
  check_input(epsilon >= 0, "epsilon is {}: must be at least 0", epsilon);
  const std::vector<Part> parts = shortened(parts_of(events));
  if (parts.empty() || std::isinf(epsilon)) return {.epsilon = epsilon, .delta = 0};

  const Least log_delta = least_over_orders([&](double a) {
    const double gap = rdp_of(parts, a) - epsilon;
    return conversion_ == Conversion::classic ? (a - 1) * gap : (a - 1) * (gap - std::log1p(1 / (a - 1))) - std::log(a);
  });
  const Least converted{std::exp(log_delta.value), log_delta.order}, distance = total_variation_bound(parts);
  const Least least = converted.value < distance.value ? converted : distance;
  return not_zero({.epsilon = epsilon, .delta = least.value, .order = least.order});
}

}  // namespace fodp
