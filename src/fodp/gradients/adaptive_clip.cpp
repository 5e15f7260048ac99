#include "fodp/gradients/adaptive_clip.h"

#include <algorithm>
#include <cmath>

namespace fodp {
namespace {

// The standard deviation of the count's noise over its sensitivity 1/2.
double count_multiplier(const AdaptiveClipOptions& options) {
  check_input(options.count_noise.has_value(), "`count-noise` is missing");
  return *options.count_noise / .5;
}

void fill(OptionSet& options, const RunContext& context) {
  auto& adaptive = options.of<AdaptiveClipOptions>();
  if (!adaptive.clip_target) adaptive.clip_target = AdaptiveClipOptions::kUsualTarget;
  if (!adaptive.count_noise) adaptive.count_noise = context.expected_lot() / 20;
}

// The gradient must be left some of what is charged for sum and count together.
void check(const RunContext& context) {
  const auto& adaptive = context.options.of<AdaptiveClipOptions>();
  const double most = std::sqrt(static_cast<double>(context.chosen.sums_per_step)) * context.largest_effective_noise;
  check_input(
      most == 0 || most < count_multiplier(adaptive),
      "`count-noise` {}: adaptive clipping's count is noised at {} times its sensitivity, the whole release is charged at {}: nothing "
      "is left for the gradient; give `count-noise` above {}, a larger lot or less noise",
      number_text(*adaptive.count_noise), number_text(count_multiplier(adaptive)), number_text(most), number_text(most / 2));
}

}  // namespace

AdaptiveClip::AdaptiveClip(double clip_norm, const AdaptiveClipOptions& options)
    : ClipRule(clip_norm),
      start_(clip_norm),
      target_(options.clip_target.value_or(AdaptiveClipOptions::kUsualTarget)),
      rate_(options.clip_rate),
      count_(count_multiplier(options)) {
  validate_fields(options);
}

void AdaptiveClip::released(const Release& release, double expected_lot) {
  if (release.has_scalar(kCount)) adapt(release.scalar(kCount), expected_lot);
}

void AdaptiveClip::adapt(double noisy_count, double expected_lot) {
  const double share = noisy_count / expected_lot + .5;
  clip_norm_ = std::clamp(clip_norm_ * std::exp(-rate_ * (share - target_)), start_ / kReach, kReach * start_);
}

extern const ClippingEntry kAdaptiveClipping = {
    .name = "adaptive",
    .summary = "lead C to a quantile of the norms by a noisy count in the same release",
    .options = {reads<AdaptiveClipOptions>()},
    .traits = {.reach = AdaptiveClip::kReach, .counts_rows = true},
    .fill = fill,
    .check = check,
    .make = [](const RunContext& context) -> std::unique_ptr<ClipRule> {
      return std::make_unique<AdaptiveClip>(context.clip_norm, context.options.of<AdaptiveClipOptions>());
    },
};

}  // namespace fodp
