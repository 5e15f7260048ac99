#include "fodp/update/adam.h"

#include <cmath>

#include "fodp/base/check.h"
#include "fodp/base/wide.h"

namespace fodp {
namespace {

// The public numbers of one step: moments are divided by 1 - beta^t, and the root of the second is taken of no less than `floor`.
struct AdamStep {
  double scale, beta1, beta2, correction1, correction2, phi, floor, stability, shrink, lr;
};

FODP_WIDE void adam_step(const AdamStep& with, const float* gradient, double* first, double* second, float* parameters, std::size_t count) {
  const AdamStep s = with;  // a copy, which no store into the arrays can change
  for (std::size_t i = 0; i < count; ++i) {
    const double g = s.scale * gradient[i];
    first[i] = s.beta1 * first[i] + (1 - s.beta1) * g;
    second[i] = s.beta2 * second[i] + (1 - s.beta2) * g * g;
    const double square = second[i] * s.correction2 - s.phi;
    const double length = std::sqrt(square > s.floor ? square : s.floor) + s.stability;
    parameters[i] = static_cast<float>(s.shrink * parameters[i] - s.lr * (first[i] * s.correction1) / length);
  }
}

}  // namespace

Adam::Adam(const AdamOptions& options) : options_(options) { validate_fields(options); }

Adam::Adam(const AdamOptions& options, const AdamBcOptions& bias_corrected) : Adam(options) {
  validate_fields(bias_corrected);
  floor_ = bias_corrected.adambc_floor;
}

Adam::Adam(const AdamOptions& options, const AdamWOptions& decoupled_decay) : Adam(options) {
  validate_fields(decoupled_decay);
  decay_ = decoupled_decay.weight_decay;
}

void Adam::apply(std::span<float> parameters, const Gradient& gradient, double lr) {
  check_sizes(parameters, gradient);
  first_.resize(parameters.size(), 0.0);
  second_.resize(parameters.size(), 0.0);
  const double b1 = options_.adam_beta1, b2 = options_.adam_beta2;
  const double scale = 1 / gradient.expected_lot;
  start1_ *= b1;
  start2_ *= b2;
  double phi = 0;
  if (floor_) {
    check_input(gradient.noise_variance.has_value(), "adambc: the variance of the noise in this gradient is not known: use adam");
    noise_ = b2 * noise_ + (1 - b2) * *gradient.noise_variance * scale * scale;
    phi = noise_ / (1 - start2_);
  }
  const AdamStep step = {.scale = scale,
                         .beta1 = b1,
                         .beta2 = b2,
                         .correction1 = 1 / (1 - start1_),
                         .correction2 = 1 / (1 - start2_),
                         .phi = phi,
                         .floor = floor_.value_or(0),
                         .stability = floor_ ? 0 : options_.adam_stability,
                         .shrink = 1 - lr * decay_,
                         .lr = lr};
  adam_step(step, gradient.sum.data(), first_.data(), second_.data(), parameters.data(), parameters.size());
}

void Adam::state(StateVisitor& visit) {
  visit("first", first_);
  visit("second", second_);
  visit("start1", start1_);
  visit("start2", start2_);
  visit("noise", noise_);
}

namespace {

constexpr double kUsualRate = .005;

void check_noise_is_known(const RunContext& context) {
  const Chosen& chosen = context.chosen;
  check_input(!chosen.filters, "`update` {} `filter` {}: the noise in a filtered gradient is not known; use `filter` none or `update` adam",
              chosen.update, chosen.filter);
  check_input(chosen.noise_is_known, "`update` {} `release` {}: the noise in such a release is not known; use `update` adam", chosen.update,
              chosen.release);
}

}  // namespace

extern const UpdateEntry kAdamUpdate = {
    .name = "adam",
    .summary = "every coordinate scaled by its own second moment",
    .options = {reads<AdamOptions>()},
    .traits = {.lr = kUsualRate},
    .make = [](const RunContext& context) -> std::unique_ptr<Update> { return std::make_unique<Adam>(context.options.of<AdamOptions>()); },
};

extern const UpdateEntry kAdamBcUpdate = {
    .name = "adambc",
    .summary = "adam with the known variance of the noise taken off the second moment",
    .options = {reads<AdamOptions>({"adam-beta1", "adam-beta2"}), reads<AdamBcOptions>()},
    .traits = {.lr = kUsualRate, .needs_noise_variance = true},
    .check = check_noise_is_known,
    .make = [](const RunContext& context) -> std::unique_ptr<Update> {
      return std::make_unique<Adam>(context.options.of<AdamOptions>(), context.options.of<AdamBcOptions>());
    },
};

extern const UpdateEntry kAdamWUpdate = {
    .name = "adamw",
    .summary = "adam with decoupled weight decay",
    .options = {reads<AdamOptions>(), reads<AdamWOptions>()},
    .traits = {.lr = kUsualRate},
    .make = [](const RunContext& context) -> std::unique_ptr<Update> {
      return std::make_unique<Adam>(context.options.of<AdamOptions>(), context.options.of<AdamWOptions>());
    },
};

}  // namespace fodp
