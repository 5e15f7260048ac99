// Options that belong to one method's step.
#pragma once

#include <optional>

#include "fodp/base/fields.h"

namespace fodp {

enum class OwnOptions { none, sharpness, look_ahead, annealing, importance };

struct SharpnessOptions {
  std::optional<double> rho;

  static auto fields() {
    return std::tuple{
        field("rho", &SharpnessOptions::rho, "length of the climb before the gradient is taken", at_least(0), "the method's")};
  }
};

struct AnnealingOptions {
  double loss_clip = .02;
  std::optional<double> loss_noise;
  double acceptance = 0;

  static auto fields() {
    using Self = AnnealingOptions;
    return std::tuple{
        field("loss-clip", &Self::loss_clip, "C_v: the change of the mean loss is clipped to [-C_v, C_v]", above(0)),
        field("loss-noise", &Self::loss_noise, "sigma_v: its noise is 2*C_v*sigma_v; each attempt is charged SGM(q, sigma_v) for it",
              above(0), "twice the noise multiplier"),
        field("acceptance", &Self::acceptance, "beta_acc: a step is kept if the noisy change is below beta_acc*C_v"),
    };
  }
};

struct ImportanceOptions {
  std::optional<double> norm_floor;
  double norm_noise = 50;

  static auto fields() {
    using Self = ImportanceOptions;
    return std::tuple{
        field("norm-floor", &Self::norm_floor, "K_floor: least total norm that is assumed; sums are charged at rate L*C/K_floor", above(0),
              "N*C/2"),
        field("norm-noise", &Self::norm_noise, "sigma_K: noise of the total norm over C; Gaussian(sigma_K) is charged an epoch", above(0)),
    };
  }
};

}  // namespace fodp
