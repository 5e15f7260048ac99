#include "fodp/update/kalman.h"

namespace fodp {

std::span<const float> Kalman::apply(std::span<const float> sum) {
  if (mean_.empty()) mean_.assign(sum.begin(), sum.end());
  for (std::size_t i = 0; i < sum.size(); ++i) mean_[i] = static_cast<float>((1 - gain_) * mean_[i] + gain_ * sum[i]);
  return mean_;
}

extern const FilterEntry kKalmanFilter = {
    .name = "kalman",
    .summary = "an average that leans to the newest gradient",
    .options = {reads<KalmanOptions>()},
    .make = [](const RunContext& context) -> std::unique_ptr<Filter> {
      return std::make_unique<Kalman>(context.options.of<KalmanOptions>());
    },
};

}  // namespace fodp
