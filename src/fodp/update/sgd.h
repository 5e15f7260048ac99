// Plain descent: theta <- theta - lr * S/L, with L the expected lot, never the realised one.
#pragma once

#include "fodp/update/update.h"

namespace fodp {

class Sgd : public Update {
 public:
  void apply(std::span<float> parameters, const Release& release, double expected_lot, double lr) override;
};

}  // namespace fodp
