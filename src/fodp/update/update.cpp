#include "fodp/update/update.h"

#include <cmath>
#include <numbers>

#include "fodp/base/check.h"

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

void check_sizes(std::span<const float> parameters, const Gradient& gradient) {
  check_input(gradient.sum.size() == parameters.size(), "a release of {} values cannot update {} parameters", gradient.sum.size(),
              parameters.size());
}

std::unique_ptr<Update> make_update(UpdateKind kind, const MomentumOptions& momentum, const AdamOptions& adam) {
  switch (kind) {
    case UpdateKind::sgd:
      break;
    case UpdateKind::momentum:
      return std::make_unique<Momentum>(momentum);
    case UpdateKind::adam:
      return std::make_unique<Adam>(adam);
    case UpdateKind::adambc:
      return std::make_unique<Adam>(adam, Adam::Variant::bias_corrected);
    case UpdateKind::adamw:
      return std::make_unique<Adam>(adam, Adam::Variant::decoupled_decay);
  }
  return std::make_unique<Sgd>();
}

}  // namespace fodp
