#include "fodp/update/update_rule.h"

#include <cmath>
#include <numbers>

namespace fodp {

// Every rule, in the order of the lists people see: one line each. The first is that of a method that names none.
#define FODP_UPDATES(M, Entry) \
  M(Entry, kSgdUpdate)         \
  M(Entry, kMomentumUpdate)    \
  M(Entry, kAdamUpdate)        \
  M(Entry, kAdamBcUpdate)      \
  M(Entry, kAdamWUpdate)

FODP_TABLE(update_table, UpdateEntry, FODP_UPDATES)

double learning_rate(double lr, LearningRateDecay decay, std::int64_t step, std::int64_t steps) {
  const double done = static_cast<double>(step) / static_cast<double>(steps);
  switch (decay) {
    case LearningRateDecay::none:
      return lr;
    case LearningRateDecay::linear:
      return lr * (1 - done);
    case LearningRateDecay::cosine:
      return lr * .5 * (1 + std::cos(std::numbers::pi * done));
  }
  return lr;
}

void check_sizes(std::span<const float> parameters, const Gradient& gradient) {
  check_input(gradient.sum.size() == parameters.size(), "a release of {} values cannot update {} parameters", gradient.sum.size(),
              parameters.size());
}

}  // namespace fodp
