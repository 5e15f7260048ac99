#include "fodp/gradients/adaptive_clip.h"

#include <algorithm>
#include <cmath>

namespace fodp {

AdaptiveClip::AdaptiveClip(double clip_norm, const AdaptiveClipOptions& options)
    : start_(clip_norm), clip_norm_(clip_norm), target_(options.clip_target.value_or(.5)), rate_(options.clip_rate) {
  validate_fields(options);
}

void AdaptiveClip::adapt(double noisy_count, double expected_lot) {
  const double share = noisy_count / expected_lot + .5;
  clip_norm_ = std::clamp(clip_norm_ * std::exp(-rate_ * (share - target_)), start_ / 100, 100 * start_);
}

}  // namespace fodp
