// The Gaussian mechanism of DP-SGD: S = s + sigma*C*Z. Also releases bounded numbers by themselves.
#pragma once

#include "fodp/mechanism/mechanism.h"

namespace fodp {

class GaussianMechanism : public Mechanism {
 public:
  explicit GaussianMechanism(double noise_multiplier) : Mechanism({.noise_multiplier = noise_multiplier}) {}
  explicit GaussianMechanism(NoiseSchedule schedule) : Mechanism(std::move(schedule)) {}

 protected:
  void block(const Block& block, std::span<float> released) override;
};

}  // namespace fodp
