#include "fodp/gradients/clip_rule.h"

#include <algorithm>

namespace fodp {

// Every rule, in the order of the lists people see: one line each. The first is that of a method that names none.
#define FODP_CLIPPINGS(M, Entry) \
  M(Entry, kFlatClipping)        \
  M(Entry, kAutomaticClipping)   \
  M(Entry, kAdaptiveClipping)

FODP_TABLE(clipping_table, ClippingEntry, FODP_CLIPPINGS)

double ClipRule::factor(double norm, double clip_norm) const { return std::min(1.0, clip_norm / norm); }

extern const ClippingEntry kFlatClipping = {
    .name = "flat",
    .summary = "scale down what is longer than C",
    .make = [](const RunContext& context) { return std::make_unique<ClipRule>(context.clip_norm); },
};

}  // namespace fodp
