#include "fodp/accounting/pld_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// Equal steps together, in an order of their own.
std::vector<CountedStep> distinct_steps(std::vector<CountedStep> steps) {
  const auto key = [](const CountedStep& step) { return std::pair(step.event.sample_rate, step.event.noise_multiplier); };
  std::sort(steps.begin(), steps.end(), [&](const CountedStep& a, const CountedStep& b) { return key(a) < key(b); });
  std::vector<CountedStep> distinct;
  for (const CountedStep& step : steps) {
    if (!distinct.empty() && distinct.back().event == step.event)
      distinct.back().count += step.count;
    else
      distinct.push_back(step);
  }
  return distinct;
}

// The root of a sum of squares, as it may have been without rounding.
Interval distance_of(const PldRun& run) {
  const double doubt = std::numeric_limits<double>::epsilon() * (static_cast<double>(run.terms) + 4);
  return {run.distance * (1 - doubt), run.distance * (1 + doubt)};
}

template <class F>
double least_of_parts(const PldRun& run, const F& lower_of) {
  double least = 0;
  if (run.distance > 0) least = lower_of(PldRun{.distance = run.distance, .terms = run.terms});
  for (const CountedStep& part : run.parts) least = std::max(least, lower_of(PldRun{.parts = {{part.event, 1}}, .count = 1}));
  return least;
}

}  // namespace

PldRun pld_run(const Events& events) {
  PldRun run;
  double squares = 0, log_hidden = 0;
  for (const Composed& composed : events) {
    const auto [rate, noise, records] = composed.event.for_accountant();
    check_input(composed.count >= 0, "count of an event is {}: must be at least 0", composed.count);
    if (composed.count == 0 || std::isinf(noise)) continue;
    const auto count = static_cast<double>(composed.count);
    ++run.terms;
    if (noise == 0)
      log_hidden += count * std::log1p(-rate);
    else if (rate == 1)
      squares += count / noise / noise;
    else
      run.parts.push_back({{rate, noise}, count});
  }
  run.revealed = -std::expm1(log_hidden);
  run.parts = distinct_steps(std::move(run.parts));
  for (const CountedStep& part : run.parts) run.count += part.count;
  run.distance = std::sqrt(squares);
  return run;
}

double total_variation(const PldRun& run) {
  double sum = std::erf(run.distance / (2 * std::numbers::sqrt2));
  for (const CountedStep& part : run.parts) {
    const auto& [rate, noise, records] = part.event;
    sum += part.count * rate * static_cast<double>(records) * std::erf(1 / (2 * std::numbers::sqrt2 * noise));
  }
  return sum * (1 + 1e-12);
}

Interval exact_epsilon(const PldRun& run, double delta, Direction direction) {
  if (!run.parts.empty())
    return sampled_gaussian_epsilon(run.parts[0].event.sample_rate, run.parts[0].event.noise_multiplier, delta, direction);
  const auto [near, far] = distance_of(run);
  return {gaussian_epsilon(near, delta).lower, gaussian_epsilon(far, delta).upper};
}

Interval exact_delta(const PldRun& run, double epsilon, Direction direction) {
  if (!run.parts.empty())
    return sampled_gaussian_delta(run.parts[0].event.sample_rate, run.parts[0].event.noise_multiplier, epsilon, direction);
  const auto [near, far] = distance_of(run);
  return {gaussian_delta(near, epsilon).lower, gaussian_delta(far, epsilon).upper};
}

double dearest_part_epsilon(const PldRun& run, double delta, Direction direction) {
  return least_of_parts(run, [&](const PldRun& part) { return exact_epsilon(part, delta, direction).lower; });
}

double dearest_part_delta(const PldRun& run, double epsilon, Direction direction) {
  return least_of_parts(run, [&](const PldRun& part) { return exact_delta(part, epsilon, direction).lower; });
}

}  // namespace fodp
