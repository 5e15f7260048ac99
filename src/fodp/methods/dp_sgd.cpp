// DP-SGD (Abadi et al. 2016): the clipped sum of a Poisson lot plus Gaussian noise, divided by the expected lot.
#include "fodp/methods/method.h"

namespace fodp {
namespace {

class PlainStep : public Method {
 public:
  void step(Step& s) override {
    Lot lot = s.sample();
    ClippedSum sum = s.clipped_sum(lot);
    Release release = s.release(std::move(sum));
    s.update(release);
  }
};

}  // namespace

std::unique_ptr<Method> make_plain_step(const RunContext&) { return std::make_unique<PlainStep>(); }

extern const MethodEntry kDpSgd = {
    .name = "dp-sgd",
    .summary = "clip each example's gradient, sum over a Poisson lot, add Gaussian noise, descend",
    .formula = "S_t = s_t + sigma*C*Z_t;  theta <- theta - lr*S_t/L",
    .event = "SGM(q, sigma)",
    .defaults = {{"lr", "4"}},
    .source = "Abadi et al., Deep Learning with Differential Privacy, CCS 2016",
    .reading =
        "Poisson lots; sums are divided by the expected lot L, never by the realised one; an empty lot is noised, steps and is charged.",
};

}  // namespace fodp
