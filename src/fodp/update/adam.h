// Adam (Kingma and Ba 2015) on released gradients g = S/L, and two variants:
//
//   m <- b1*m + (1-b1)*g;  v <- b2*v + (1-b2)*g^2;  mhat = m/(1-b1^t);  vhat = v/(1-b2^t)
//   plain            theta <- theta - lr * mhat/(sqrt(vhat) + 1e-8)
//   decoupled decay  theta <- theta - lr * (mhat/(sqrt(vhat) + 1e-8) + decay*theta)            (AdamW; Loshchilov and Hutter 2019)
//   bias corrected   theta <- theta - lr * mhat/sqrt(max(vhat - phi, floor))                   (DP-AdamBC; Tang et al. 2024)
//
// phi is the variance of the noise in g, which v cannot tell from signal; where it varies, its average with v's own weights.
#pragma once

#include <cstdint>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/update/update_rule.h"

namespace fodp {

struct AdamOptions {
  double adam_beta1 = .9, adam_beta2 = .999;
  double adam_stability = 1e-8;

  static auto fields() {
    using Self = AdamOptions;
    return std::tuple{
        field("adam-beta1", &Self::adam_beta1, "how much of the first moment is kept", {.low = 0, .high = 1, .high_open = true}),
        field("adam-beta2", &Self::adam_beta2, "how much of the second moment is kept", {.low = 0, .high = 1, .high_open = true}),
        field("adam-stability", &Self::adam_stability, "added to the root of the second moment", above(0)),
    };
  }
};

struct AdamBcOptions {
  double adambc_floor = 1e-6;

  static auto fields() {
    return std::tuple{field("adambc-floor", &AdamBcOptions::adambc_floor, "least second moment after the noise is taken off", above(0))};
  }
};

struct AdamWOptions {
  double weight_decay = .01;

  static auto fields() {
    return std::tuple{field("weight-decay", &AdamWOptions::weight_decay,
                            "decay of every parameter, biases included, times the learning rate", at_least(0))};
  }
};

class Adam : public Update {
 public:
  explicit Adam(const AdamOptions& options);
  Adam(const AdamOptions& options, const AdamBcOptions& bias_corrected);
  Adam(const AdamOptions& options, const AdamWOptions& decoupled_decay);
  // InputError for a bias-corrected step along a gradient whose noise is not known.
  void apply(std::span<float> parameters, const Gradient& gradient, double lr) override;
  void state(StateVisitor& visit) override;

 private:
  AdamOptions options_;
  std::optional<double> floor_;  // where the noise is taken off
  double decay_ = 0;
  std::vector<double> first_, second_;
  double start1_ = 1, start2_ = 1;  // b1^t, b2^t
  double noise_ = 0;                // phi, averaged like v
};

}  // namespace fodp
