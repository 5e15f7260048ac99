// The Gaussian mechanism of DP-SGD: S = s + sigma*C*Z.
#pragma once

#include "fodp/mechanism/mechanism.h"

namespace fodp {

class GaussianMechanism : public Mechanism {
 public:
  explicit GaussianMechanism(double noise_multiplier);
  double effective_noise_multiplier() const override { return noise_multiplier_; }

 protected:
  void transform(const NoisedSum& noised, std::span<float> released) override;

 private:
  double noise_multiplier_;
};

}  // namespace fodp
