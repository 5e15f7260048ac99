// Plain descent: theta <- theta - lr * S/L, with L the expected lot, never the realised one.
#pragma once

#include "fodp/update/update_rule.h"

namespace fodp {

class Sgd : public Update {
 public:
  void apply(std::span<float> parameters, const Gradient& gradient, double lr) override;
};

}  // namespace fodp
