// The stage "clipping": how a row's gradient is bounded, and how the bound itself moves.
#pragma once

#include "fodp/base/state.h"
#include "fodp/gradients/query.h"
#include "fodp/mechanism/release.h"
#include "fodp/stages/stage.h"

namespace fodp {

class ClipRule {
 public:
  explicit ClipRule(double clip_norm) : clip_norm_(clip_norm) {}
  virtual ~ClipRule() = default;

  double clip_norm() const { return clip_norm_; }  // C now

  // The factor that brings a gradient of this finite norm to at most `clip_norm` (C, or a layer's share of it).
  virtual double factor(double norm, double clip_norm) const;

  // What is asked with every sum of clipped gradients.
  virtual const Query& query() const { return plain_; }

  // After each release of such a sum.
  virtual void released(const Release& /*release*/, double /*expected_lot*/) {}

  virtual void state(StateVisitor& visit) { visit("clip_norm", clip_norm_); }

 protected:
  double clip_norm_;

 private:
  Query plain_;
};

struct ClippingTraits {
  double reach = 1;          // how many times larger or smaller than it starts the clip norm may become
  bool counts_rows = false;  // a noisy count of unclipped rows comes with each sum
  bool same_length = false;  // every gradient is scaled to about C: a factor on the loss of a row has next to no effect
};

using ClippingEntry = StageEntry<ClipRule, ClippingTraits>;

Table<ClippingEntry> clipping_table();

}  // namespace fodp
