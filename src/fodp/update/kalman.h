// DiSK's simplified Kalman filter (Zhang et al. 2025): m <- (1-kappa)*m + kappa*g, from m = the first g.
#pragma once

#include <vector>

#include "fodp/base/fields.h"
#include "fodp/update/filter.h"

namespace fodp {

struct KalmanOptions {
  double disk_kappa = .7;

  static auto fields() {
    return std::tuple{
        field("disk-kappa", &KalmanOptions::disk_kappa, "gain of the filter: weight of the newest gradient", above_up_to(0, 1))};
  }
};

class Kalman : public Filter {
 public:
  explicit Kalman(const KalmanOptions& options) : gain_(options.disk_kappa) { validate_fields(options); }

  std::span<const float> apply(std::span<const float> sum) override;
  void state(StateVisitor& visit) override { visit("mean", mean_); }

 private:
  double gain_;
  std::vector<float> mean_;
};

}  // namespace fodp
