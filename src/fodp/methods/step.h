// What a method may do in one step: four verbs, in this order, and nothing flows back.
//
//   sample -> clip -> release -> update
//
// The types keep the order: a Lot is used up by the one sum it is drawn for (two releases of one lot cost more than two of two), only
// clipped_sum makes a ClippedSum, only release makes a Release (after charging the ledger), and only a
// Release reaches update.
#pragma once

#include "fodp/data/sampling.h"
#include "fodp/gradients/clipped_sum.h"
#include "fodp/mechanism/mechanism.h"

namespace fodp {

class Step {
 public:
  virtual ~Step() = default;

  virtual Lot sample() = 0;                         // a fresh Poisson lot
  virtual ClippedSum clipped_sum(Lot lot) = 0;      // of per-example gradients at the present parameters
  virtual Release release(ClippedSum sum) = 0;      // by the method's mechanism; PrivacyError if the budget would be passed
  virtual void update(const Release& release) = 0;  // by the method's update rule
};

}  // namespace fodp
