#include "fodp/audit/bounds.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>

namespace fodp {
namespace {

constexpr double kNarrow = 1e-3;

// The largest x in [low, high] that `holds`, less at most kNarrow; it holds up to some point and nowhere after, and at `low`.
double largest(double low, double high, const std::function<bool(double)>& holds) {
  while (high - low > kNarrow) {
    const double middle = (low + high) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

Events with_noise_times(const Events& events, double factor) {
  Events changed = events;
  for (Composed& part : changed) part.event.noise_multiplier *= factor;
  return changed;
}

// Whether a mechanism of these events can have a test whose true rate is at least `found` and whose false rate is at most `wrong`. It is
// asked at the epsilons near the slope of a Gaussian trade-off curve through that point, where the answer is sharpest.
bool allows(const Events& events, const Accountant& accountant, double found, double wrong) {
  if (found <= wrong) return true;
  const boost::math::normal normal;
  const double most = 1 - 1e-15, least = 1e-15;
  const double shift = quantile(normal, std::clamp(found, least, most)) - quantile(normal, std::clamp(wrong, least, most));
  const double slope = std::max(0.0, -shift * quantile(normal, std::clamp(wrong, least, most)) - shift * shift / 2);
  for (const double part : {.75, 1.0, 1.3}) {
    const double epsilon = part * slope;
    if (found > std::exp(epsilon) * wrong + accountant.delta(events, epsilon).delta) return false;
  }
  return true;
}

// Theorem 5.2: how likely so many or more right guesses are at most, if the run is (epsilon, delta) private.
double chance_of_guesses(std::int64_t canaries, std::int64_t guesses, std::int64_t correct, double epsilon, double delta) {
  const boost::math::binomial right(static_cast<double>(guesses), 1 / (1 + std::exp(-epsilon)));
  const double as_many = correct > 0 ? cdf(complement(right, static_cast<double>(correct - 1))) : 1;
  double fewer = 0, steepest = 0;
  for (std::int64_t i = 1; i <= correct; ++i) {
    fewer += pdf(right, static_cast<double>(correct - i));
    steepest = std::max(steepest, fewer / static_cast<double>(i));
  }
  return as_many + 2 * static_cast<double>(canaries) * delta * steepest;
}

constexpr double kMostEpsilon = 50;
constexpr double kMostLogFactor = 5;  // of noise

}  // namespace

double upper_rate(std::int64_t hits, std::int64_t trials, double chance) {
  if (trials == 0 || hits >= trials) return 1;
  return boost::math::binomial::find_upper_bound_on_p(static_cast<double>(trials), static_cast<double>(hits), chance);
}

double lower_rate(std::int64_t hits, std::int64_t trials, double chance) {
  if (trials == 0 || hits <= 0) return 0;
  return boost::math::binomial::find_lower_bound_on_p(static_cast<double>(trials), static_cast<double>(hits), chance);
}

double counted_epsilon(const TestCounts& counts, double delta, double chance) {
  const double found = lower_rate(counts.said_of_in, counts.in, chance / 2), wrong = upper_rate(counts.said_of_out, counts.out, chance / 2);
  return found > delta ? std::max(0.0, std::log((found - delta) / wrong)) : 0;
}

double gaussian_epsilon(const TestCounts& counts, const Events& events, double delta, const Accountant& accountant, double chance) {
  const double found = lower_rate(counts.said_of_in, counts.in, chance / 2), wrong = upper_rate(counts.said_of_out, counts.out, chance / 2);
  if (found <= wrong) return 0;
  const auto allowed = [&](double log_factor) {
    const Events noised = with_noise_times(events, std::exp(log_factor));
    return allows(noised, accountant, found, wrong) && allows(noised, accountant, 1 - wrong, 1 - found);
  };
  // The search begins at the announced noise and goes on in growing steps, since answers for very little noise take long.
  double low = 0, high = 0, step = .1;
  if (allowed(0)) {
    while (high < kMostLogFactor && allowed(high += step)) low = high, step *= 2;
  } else {
    while (low > -kMostLogFactor && !allowed(low -= step)) high = low, step *= 2;
  }
  const double factor = largest(low, high, allowed) + kNarrow;  // the other end, at which it is excluded
  return accountant.epsilon(with_noise_times(events, std::exp(factor)), delta).epsilon_lower;
}

double one_run_epsilon(std::int64_t canaries, std::int64_t guesses, std::int64_t correct, double delta, double chance) {
  const auto excluded = [&](double epsilon) { return chance_of_guesses(canaries, guesses, correct, epsilon, delta) <= chance; };
  return guesses > 0 && excluded(0) ? largest(0, kMostEpsilon, excluded) : 0;
}

}  // namespace fodp
