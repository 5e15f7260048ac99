// Automatic clipping (Bu et al. 2022): every gradient is scaled to about C, gbar = C*g/(|g| + .01).
#include "fodp/gradients/clip_rule.h"

namespace fodp {
namespace {

class AutomaticClip : public ClipRule {
 public:
  using ClipRule::ClipRule;
  double factor(double norm, double clip_norm) const override {
    constexpr double kStability = .01;
    return clip_norm / (norm + kStability);
  }
};

}  // namespace

extern const ClippingEntry kAutomaticClipping = {
    .name = "automatic",
    .summary = "scale every gradient to about C",
    .traits = {.same_length = true},
    .make = [](const RunContext& context) -> std::unique_ptr<ClipRule> { return std::make_unique<AutomaticClip>(context.clip_norm); },
};

}  // namespace fodp
