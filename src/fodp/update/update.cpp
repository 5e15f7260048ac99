#include "fodp/update/update.h"

#include <cmath>
#include <numbers>

namespace fodp {

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

}  // namespace fodp
