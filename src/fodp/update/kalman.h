// DiSK's simplified Kalman filter (Zhang et al. 2025): m <- (1-kappa)*m + kappa*g, from m = the first g.
#pragma once

#include "fodp/update/filter.h"

namespace fodp {

class Kalman : public Filter {
 public:
  explicit Kalman(const KalmanOptions& options) : gain_(options.disk_kappa) { validate_fields(options); }

  std::span<const float> apply(std::span<const float> sum) override {
    if (mean_.empty()) mean_.assign(sum.begin(), sum.end());
    for (std::size_t i = 0; i < sum.size(); ++i) mean_[i] = static_cast<float>((1 - gain_) * mean_[i] + gain_ * sum[i]);
    return mean_;
  }

 private:
  double gain_;
  std::vector<float> mean_;
};

}  // namespace fodp
