// Adaptive clipping (Andrew et al. 2021): the clip norm follows a quantile of the gradient norms, steered by a noisy count of unclipped
// rows that is released with each sum.
//
//   b_t = (sum_i (b_i - 1/2) + sigma_b*z)/L + 1/2;   C <- clamp(C*exp(-rate*(b_t - target)), C_0/100, 100*C_0)
//
// Sum and count share one mask and one charge z: the sum is noised at (z^-2 - (2*sigma_b)^-2)^(-1/2).
#pragma once

#include <optional>

#include "fodp/base/fields.h"
#include "fodp/gradients/clip_rule.h"

namespace fodp {

struct AdaptiveClipOptions {
  std::optional<double> clip_target;
  double clip_rate = .2;
  std::optional<double> count_noise;

  static constexpr double kUsualTarget = .5;

  static auto fields() {
    using Self = AdaptiveClipOptions;
    return std::tuple{
        field("clip-target", &Self::clip_target, "the share of rows that are not to be clipped", between(0, 1), number_text(kUsualTarget)),
        field("clip-rate", &Self::clip_rate, "how fast C moves", at_least(0)),
        field("count-noise", &Self::count_noise, "sigma_b: standard deviation of the noise on the count of unclipped rows", above(0),
              "L/20"),
    };
  }
};

class AdaptiveClip : public ClipRule {
 public:
  // `count_noise` must be given.
  AdaptiveClip(double clip_norm, const AdaptiveClipOptions& options);

  static constexpr double kReach = 100;
  static constexpr char kCount[] = "count";  // the released sum_i (b_i - 1/2), b_i the share of row i's groups that are not clipped

  const Query& query() const override { return count_; }
  void released(const Release& release, double expected_lot) override;
  void adapt(double noisy_count, double expected_lot);

 private:
  class CountQuery : public Query {
   public:
    explicit CountQuery(double noise_multiplier) : noise_multiplier_(noise_multiplier) {}
    std::vector<Number> numbers() const override { return {{kCount, kBound, noise_multiplier_}}; }
    double part(std::size_t, const RowFacts& row) const override { return row.unclipped - .5; }

    static constexpr double kBound = .5;

   private:
    double noise_multiplier_;
  };

  double start_, target_, rate_;
  CountQuery count_;
};

}  // namespace fodp
