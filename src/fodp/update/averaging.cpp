#include "fodp/update/averaging.h"

namespace fodp {

WeightAverage::WeightAverage(const AveragingOptions& options) : options_(options) { validate_fields(options); }

void WeightAverage::add(std::span<const float> parameters) {
  if (options_.kind() == Averaging::none) return;
  sum_.resize(parameters.size(), 0.0);
  steps_ += 1;
  const double power = options_.averaging_power;
  const double fresh = options_.kind() == Averaging::ema ? 1 - options_.averaging_decay : (power + 1) / (steps_ + power);
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] = (1 - fresh) * sum_[i] + fresh * parameters[i];
  weight_ = (1 - fresh) * weight_ + fresh;
}

std::vector<float> WeightAverage::value() const {
  std::vector<float> average(sum_.size());
  for (std::size_t i = 0; i < sum_.size(); ++i) average[i] = static_cast<float>(sum_[i] / weight_);
  return average;
}

}  // namespace fodp
