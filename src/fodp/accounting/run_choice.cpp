#include "fodp/accounting/run_choice.h"

#include <algorithm>
#include <cmath>

#include "fodp/accounting/analytic.h"
#include "fodp/base/check.h"
#include "fodp/base/fields.h"

namespace fodp {
namespace {

constexpr double kUsualRate = .0171, kUsualExamples = 60000;
constexpr double kLeastLot = 16;  // expected examples: smaller lots are hardly more than noise

std::int64_t planned_steps(std::int64_t parameters) { return parameters < kSmallModel ? 2 * kPlannedSteps : kPlannedSteps; }

// The rate of so many steps, rounded down to three digits so that the epochs are not passed.
double rate_of(double epochs, std::int64_t steps) {
  const double rate = std::min(1.0, epochs / static_cast<double>(steps));
  const int digits = 3 - static_cast<int>(std::floor(std::log10(rate))) - 1;
  const double unit = std::pow(10, digits);
  // The nearest double of the text, so that .0171 is what a user would have typed.
  return parse_number(fmt::format("{:.{}f}", std::floor(rate * unit * (1 + 1e-12)) / unit, std::max(0, digits)), "sample-rate",
                      above_up_to(0, 1));
}

}  // namespace

double usual_epochs(std::int64_t examples, std::int64_t parameters) {
  return kUsualRate * static_cast<double>(planned_steps(parameters)) * std::max(1.0, kUsualExamples / static_cast<double>(examples));
}

RunSize planned_size(std::int64_t examples, std::int64_t parameters, double epochs_most) {
  check_input(examples >= 1, "examples is {}: must be at least 1", examples);
  check_input(epochs_most > 0 && std::isfinite(epochs_most), "epochs is {}: must be above 0", epochs_most);
  const double rows = epochs_most * static_cast<double>(examples);
  const double most_steps = std::floor(rows / std::min(kLeastLot, static_cast<double>(examples)));
  const std::int64_t steps = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(most_steps, 1e9)), 1, planned_steps(parameters));
  return {rate_of(epochs_most, steps), steps};
}

std::vector<RunSize> sizes_to_compare(std::int64_t examples, std::int64_t parameters, double epochs_most) {
  const RunSize chosen = planned_size(examples, parameters, epochs_most);
  std::vector<RunSize> sizes = {chosen};
  for (const double factor : {.25, .5, 2., 4., 8.}) {
    const auto steps = static_cast<std::int64_t>(std::max(1.0, std::floor(factor * static_cast<double>(chosen.steps))));
    const RunSize size{rate_of(epochs_most, steps), steps};
    if (size.sample_rate < 1 && size.sample_rate * static_cast<double>(examples) >= 1) sizes.push_back(size);
  }
  for (const double share : {.25, .5}) {
    const RunSize size{rate_of(share * chosen.epochs(), chosen.steps), chosen.steps};
    if (size.sample_rate * static_cast<double>(examples) >= 1) sizes.push_back(size);
  }
  if (epochs_most >= 1) sizes.push_back({1, std::min<std::int64_t>(static_cast<std::int64_t>(std::min(epochs_most, 1e9)), 100000)});
  std::ranges::sort(
      sizes, [](const RunSize& a, const RunSize& b) { return a.steps != b.steps ? a.steps < b.steps : a.sample_rate < b.sample_rate; });
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

double excess_noise(const RunSize& size, double noise_multiplier, const Budget& budget) {
  const double mu = gaussian_distance(budget.epsilon, budget.delta);
  return noise_multiplier * mu / (size.sample_rate * std::sqrt(static_cast<double>(size.steps)));
}

double usual_delta(std::int64_t examples) {
  int digits = 1;
  for (std::uint64_t power = 1; power < static_cast<std::uint64_t>(examples); power *= 10) ++digits;
  return parse_number(fmt::format("1e-{}", digits), "`delta`", strictly_between(0, 1));
}

}  // namespace fodp
