#include "fodp/accounting/calibrate.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"

namespace fodp {

Events PlannedRun::events(double noise_multiplier) const {
  return {{Event::poisson_gaussian(sample_rate, noise_multiplier / beta, slack), steps}};
}

Calibrated calibrate_noise_multiplier(const PlannedRun& run, const Budget& target, const Accountant& accountant) {
  check_input(run.steps >= 1, "steps is {}: must be at least 1", run.steps);
  check_input(run.beta > 0 && run.beta <= 1, "beta is {}: must be in (0, 1]", run.beta);
  return calibrate_noise_multiplier([&](double sigma) { return run.events(sigma); }, target, accountant);
}

Calibrated calibrate_noise_multiplier(const EventsAt& events, const Budget& target, const Accountant& accountant) {
  check_input(target.epsilon > 0 && std::isfinite(target.epsilon), "epsilon is {}: must be above 0", target.epsilon);
  check_input(target.delta > 0 && target.delta < 1, "delta is {}: must be in (0, 1)", target.delta);

  const auto spent = [&](double sigma) { return accountant.epsilon(events(sigma), target.delta); };
  const auto meets = [&](double sigma) { return spent(sigma).epsilon <= target.epsilon; };

  constexpr double kLargest = 1e6, kSmallest = 1e-6;
  double high = 1;
  while (high < kLargest && !meets(high)) high = std::min(2 * high, kLargest);
  if (high == kLargest) {
    const double least = spent(kLargest).epsilon;
    check_input(least <= target.epsilon,
                "epsilon {} at delta {} cannot be met by {} steps: with a noise multiplier of {} epsilon is {}; allow that much, or fewer "
                "steps, a lower sample rate or a larger delta",
                target.epsilon, target.delta, total_count(events(kLargest)), kLargest, least);
  }
  double low = high / 2;
  while (low > kSmallest && meets(low)) high = low, low /= 2;

  while (high - low > 1e-6 * low) {
    const double middle = std::sqrt(low * high);
    (meets(middle) ? high : low) = middle;
  }
  const Calibrated result{.noise_multiplier = high, .spent = spent(high)};
  check_fault(result.spent.epsilon <= target.epsilon, "accountant {} gives two answers for noise multiplier {}", accountant.name(), high);
  return result;
}

}  // namespace fodp
