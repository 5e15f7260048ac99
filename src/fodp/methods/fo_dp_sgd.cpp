// FO-DP-SGD (Partohaghighi and Marcia 2026, Algorithm 1): DP-SGD whose query blends the current clipped sum with a fractional memory of
// past releases. The memory lives in the mechanism; the step is DP-SGD's.
#include <cmath>

#include "fodp/mechanism/fractional.h"
#include "fodp/methods/method.h"

namespace fodp {
namespace {

class FoDpSgd : public Method {
 public:
  std::unique_ptr<Mechanism> make_mechanism(const MethodContext& context) const override {
    const double noise_norm = context.noise_multiplier * context.clip_norm * std::sqrt(static_cast<double>(context.parameters));
    return std::make_unique<FractionalMechanism>(context.noise_multiplier, resolve(context.memory, context.clip_norm, noise_norm));
  }

  void step(Step& s) override {
    Lot lot = s.sample();
    ClippedSum sum = s.clipped_sum(std::move(lot));
    Release release = s.release(std::move(sum));  // beta*s + (1-beta)*memory + noise
    s.update(release);
  }
};

}  // namespace

const MethodEntry kFoDpSgd = {
    .name = "fo-dp-sgd",
    .summary =
        "DP-SGD whose released query blends the current clipped sum with a fractional, tempered, confidence-aware memory of past releases",
    .formula = "S_t = beta*s_t + (1-beta)*sum_j ahat_{t,j}*S_{t-j} + sigma*C*Z_t;  theta <- theta - lr*S_t/L",
    .event = "SGM(q, sigma/beta)",
    .queries_per_step = 1,
    .uses_memory = true,
    .default_lr = 4,
    .source = "Partohaghighi and Marcia, Deep Learning under Fractional-Order Differential Privacy, arXiv 2605.09890",
    .make = []() -> std::unique_ptr<Method> { return std::make_unique<FoDpSgd>(); },
};

}  // namespace fodp
