#include "fodp/update/adam.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"

namespace fodp {

Adam::Adam(const AdamOptions& options, Variant variant) : options_(options), variant_(variant) { validate_fields(options); }

void Adam::apply(std::span<float> parameters, const Gradient& gradient, double lr) {
  check_sizes(parameters, gradient);
  first_.resize(parameters.size(), 0.0);
  second_.resize(parameters.size(), 0.0);
  const double b1 = options_.adam_beta1, b2 = options_.adam_beta2, stability = options_.adam_stability;
  const double scale = 1 / gradient.expected_lot;
  start1_ *= b1;
  start2_ *= b2;
  double phi = 0;
  if (variant_ == Variant::bias_corrected) {
    check_input(gradient.noise_variance.has_value(), "adambc: the variance of the noise in this gradient is not known: use adam");
    noise_ = b2 * noise_ + (1 - b2) * *gradient.noise_variance * scale * scale;
    phi = noise_ / (1 - start2_);
  }
  const double shrink = variant_ == Variant::decoupled_decay ? 1 - lr * options_.weight_decay : 1;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double g = scale * gradient.sum[i];
    first_[i] = b1 * first_[i] + (1 - b1) * g;
    second_[i] = b2 * second_[i] + (1 - b2) * g * g;
    const double mean = first_[i] / (1 - start1_), square = second_[i] / (1 - start2_);
    const double length =
        variant_ == Variant::bias_corrected ? std::sqrt(std::max(square - phi, options_.adambc_floor)) : std::sqrt(square) + stability;
    parameters[i] = static_cast<float>(shrink * parameters[i] - lr * mean / length);
  }
}

}  // namespace fodp
