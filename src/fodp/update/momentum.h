// Momentum on released gradients g = S/L:
//   ema          m <- mu*m + (1-mu)*g;  theta <- theta - lr * m/(1-mu^t)
//   heavy-ball   v <- mu*v + g;         theta <- theta - lr * v               (Polyak)
#pragma once

#include <cstdint>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/update/update_rule.h"

namespace fodp {

enum class MomentumForm { ema, heavy_ball };

template <>
struct EnumNames<MomentumForm> {
  static constexpr std::pair<std::string_view, MomentumForm> values[] = {{"ema", MomentumForm::ema},
                                                                         {"heavy-ball", MomentumForm::heavy_ball}};
};

struct MomentumOptions {
  double momentum = .9;
  MomentumForm momentum_form = MomentumForm::ema;

  static auto fields() {
    return std::tuple{
        field("momentum", &MomentumOptions::momentum, "mu: how much of the past is kept", {.low = 0, .high = 1, .high_open = true}),
        field("momentum-form", &MomentumOptions::momentum_form,
              "ema: an average of past gradients, corrected for its start; heavy-ball: their decaying sum, 1/(1-mu) times as long"),
    };
  }
};

class Momentum : public Update {
 public:
  explicit Momentum(const MomentumOptions& options);
  void apply(std::span<float> parameters, const Gradient& gradient, double lr) override;
  void state(StateVisitor& visit) override;

 private:
  MomentumOptions options_;
  std::vector<double> velocity_;
  double start_ = 1;  // mu^t
};

}  // namespace fodp
