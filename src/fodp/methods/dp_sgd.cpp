// DP-SGD (Abadi et al. 2016): the clipped sum of a Poisson lot plus Gaussian noise, divided by the expected lot.
#include "fodp/mechanism/gaussian.h"
#include "fodp/methods/method.h"

namespace fodp {
namespace {

class DpSgd : public Method {
 public:
  std::unique_ptr<Mechanism> make_mechanism(const MethodContext& context) const override {
    return std::make_unique<GaussianMechanism>(context.noise_multiplier);
  }

  void step(Step& s) override {
    Lot lot = s.sample();
    ClippedSum sum = s.clipped_sum(std::move(lot));
    Release release = s.release(std::move(sum));
    s.update(release);
  }
};

}  // namespace

const MethodEntry kDpSgd = {
    .name = "dp-sgd",
    .summary = "clip each example's gradient, sum over a Poisson lot, add Gaussian noise, descend",
    .formula = "S_t = s_t + sigma*C*Z_t;  theta <- theta - lr*S_t/L",
    .event = "SGM(q, sigma)",
    .queries_per_step = 1,
    .uses_memory = false,
    .default_lr = 4,
    .source = "Abadi et al., Deep Learning with Differential Privacy, CCS 2016",
    .make = []() -> std::unique_ptr<Method> { return std::make_unique<DpSgd>(); },
};

}  // namespace fodp
