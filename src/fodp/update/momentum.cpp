#include "fodp/update/momentum.h"

#include "fodp/base/wide.h"

namespace fodp {
namespace {

FODP_WIDE void descend_along(double mu, double fresh, double rate, const float* gradient, double* velocity, float* parameters,
                             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    velocity[i] = mu * velocity[i] + fresh * gradient[i];
    parameters[i] = static_cast<float>(parameters[i] - rate * velocity[i]);
  }
}

}  // namespace

Momentum::Momentum(const MomentumOptions& options) : options_(options) { validate_fields(options); }

void Momentum::apply(std::span<float> parameters, const Gradient& gradient, double lr) {
  check_sizes(parameters, gradient);
  velocity_.resize(parameters.size(), 0.0);
  const double mu = options_.momentum;
  const bool ema = options_.momentum_form == MomentumForm::ema;
  start_ *= mu;
  const double fresh = (ema ? 1 - mu : 1) / gradient.expected_lot, rate = ema ? lr / (1 - start_) : lr;
  descend_along(mu, fresh, rate, gradient.sum.data(), velocity_.data(), parameters.data(), parameters.size());
}

void Momentum::state(StateVisitor& visit) {
  visit("velocity", velocity_);
  visit("start", start_);
}

extern const UpdateEntry kMomentumUpdate = {
    .name = "momentum",
    .summary = "descent along an average or a decaying sum of past gradients",
    .options = {reads<MomentumOptions>()},
    .traits = {.gain =
                   [](const OptionSet& options) {
                     const MomentumOptions& own = options.of<MomentumOptions>();
                     return own.momentum_form == MomentumForm::heavy_ball ? 1 / (1 - own.momentum) : 1.0;
                   }},
    .make = [](const RunContext& context) -> std::unique_ptr<Update> {
      return std::make_unique<Momentum>(context.options.of<MomentumOptions>());
    },
};

}  // namespace fodp
