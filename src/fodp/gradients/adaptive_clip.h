// Adaptive clipping (Andrew et al. 2021): the clip norm follows a quantile of the gradient norms, steered by a noisy count of unclipped
// rows that is released with each sum.
//
//   b_t = (sum_i (b_i - 1/2) + sigma_b*z)/L + 1/2;   C <- clamp(C*exp(-rate*(b_t - target)), C_0/100, 100*C_0)
//
// Sum and count share one mask and one charge z: the sum is noised at (z^-2 - (2*sigma_b)^-2)^(-1/2).
#pragma once

#include <optional>

#include "fodp/base/fields.h"

namespace fodp {

struct AdaptiveClipOptions {
  std::optional<double> clip_target;
  double clip_rate = .2;
  std::optional<double> count_noise;

  static auto fields() {
    using Self = AdaptiveClipOptions;
    return std::tuple{
        field("clip-target", &Self::clip_target, "adaptive: the share of rows that are not to be clipped", between(0, 1), ".5"),
        field("clip-rate", &Self::clip_rate, "adaptive: how fast C moves", at_least(0)),
        field("count-noise", &Self::count_noise, "adaptive, sigma_b: standard deviation of the noise on the count of unclipped rows",
              above(0), "L/20"),
    };
  }
};

class AdaptiveClip {
 public:
  AdaptiveClip(double clip_norm, const AdaptiveClipOptions& options);

  double clip_norm() const { return clip_norm_; }
  void adapt(double noisy_count, double expected_lot);  // sum_i (b_i - 1/2), released

 private:
  double start_, clip_norm_, target_, rate_;
};

}  // namespace fodp
