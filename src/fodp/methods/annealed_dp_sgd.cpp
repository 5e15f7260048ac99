// SA-DPSGD with annealed acceptance (Fu et al. 2022, 2024): try a step, ask privately whether the loss fell, keep it or go back. Both
// questions of every attempt are charged, whether the step is kept or not.
#include "fodp/methods/method.h"

namespace fodp {
namespace {

class AnnealedDpSgd : public Method {
 public:
  explicit AnnealedDpSgd(const MethodContext& context) : context_(context), options_(context.annealing) {}

  void step(Step& s) override {
    const std::vector<float> before(s.parameters().begin(), s.parameters().end());
    s.update(s.release(s.clipped_sum(s.sample())));
    Release change = s.release(s.loss_change(s.sample(), before, options_.loss_clip, loss_noise()));
    const bool better = change.scalar("loss_change") < options_.acceptance * options_.loss_clip;
    if (!better) s.set_parameters(before);
  }

  Events more_events() const override { return {{Event::poisson_gaussian(context_.sample_rate, loss_noise()), context_.steps}}; }

 private:
  double loss_noise() const { return context_.noise_multiplier == 0 ? 0 : options_.loss_noise.value_or(2 * context_.noise_multiplier); }

  MethodContext context_;
  AnnealingOptions options_;
};

}  // namespace

extern const MethodEntry kAnnealedDpSgd = {
    .name = "annealed-dp-sgd",
    .summary = "tries a DP-SGD step and keeps it only if a noisy look at the loss of a fresh lot says that it fell",
    .formula =
        "theta' = theta - lr*(s_t + sigma*C*Z_t)/L;  D = clip(mean loss(theta') - mean loss(theta), +-C_v) + 2*C_v*sigma_v*z;  "
        "theta <- theta' if D < beta_acc*C_v",
    .event = "SGM(q, sigma) and SGM(q, sigma_v), for rejected attempts too",
    .queries_per_step = 2,
    .own = OwnOptions::annealing,
    .defaults = {{{"lr", "8"}}},
    .own_sampling = true,
    .source = "Fu et al., SA-DPSGD, arXiv 2211.07218; Fu et al., DPSUR, VLDB 2024",
    .reading =
        "a step of the run is an attempt. The mean is over the expected lot; the clipped change moves by at most 2*C_v, whatever one row "
        "does. Moments, memory and filters keep the releases of rejected attempts: they are paid for. The defaults of C_v, sigma_v and "
        "beta_acc are ours. At sigma 0 the loss is not noised either.",
    .make = [](const MethodContext& context) -> std::unique_ptr<Method> { return std::make_unique<AnnealedDpSgd>(context); },
};

}  // namespace fodp
