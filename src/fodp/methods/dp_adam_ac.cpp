// DP-Adam-AC (Yang 2025), made private: DP-AdamW with adaptive clipping, a learning rate that follows the noisy clip rate, and an average
// of the weights for evaluation. As published it steers by un-noised norms, which is not private.
#include <algorithm>

#include "fodp/gradients/adaptive_clip.h"
#include "fodp/methods/method.h"

namespace fodp {
namespace {

class DpAdamAc : public Method {
 public:
  void step(Step& s) override {
    Release release = s.release(s.clipped_sum(s.sample()));
    const double clipped = .5 - release.scalar(AdaptiveClip::kCount) / s.expected_lot();
    if (clipped < .1) factor_ *= 1.01;
    if (clipped > .3) factor_ *= .995;
    factor_ = std::clamp(factor_, .1, 2.);
    s.update(release, factor_);
  }

  void state(StateVisitor& visit) override { visit("factor", factor_); }

 private:
  double factor_ = 1;
};

}  // namespace

extern const MethodEntry kDpAdamAc = {
    .name = "dp-adam-ac",
    .summary = "DP-AdamW with adaptive clipping, a learning rate that follows the noisy clip rate, and averaged weights",
    .formula =
        "C_{t+1} = C_t*exp(-.2*(b_t - .8));  f <- 1.01*f if 1-b_t < .1, .995*f if 1-b_t > .3, in [.1, 2];  DP-AdamW at lr*f;  "
        "evaluated at the ema (.999) of theta",
    .event = "SGM(q, sigma), the sum and the count together",
    .update = "adamw",
    .clipping = "adaptive",
    .averaging = "ema",
    .defaults = {{"lr", ".005"}, {"clip-target", ".8"}},
    .source = "Yang, DP-Adam-AC, arXiv 2510.05288",
    .reading =
        "as published it steers by un-noised norms, which is not private: here the clip norm and the learning rate follow the noisy "
        "count that is released with the sum.",
    .check = check_rows_are_counted,
    .make = [](const RunContext&) -> std::unique_ptr<Method> { return std::make_unique<DpAdamAc>(); },
};

}  // namespace fodp
