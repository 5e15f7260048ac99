// SA-DPSGD with annealed acceptance (Fu et al. 2022, 2024): try a step, ask privately whether the loss fell, keep it or go back. Both
// questions of every attempt are charged, whether the step is kept or not.
#include "fodp/methods/method.h"

namespace fodp {
namespace {

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

constexpr char kLossChange[] = "loss_change";

// The mean loss now minus that at `before`, over the expected lot, clipped as a whole to [-bound, bound].
class LossChange : public Query {
 public:
  LossChange(std::span<const float> before, double lot, double bound, double noise_multiplier)
      : before_(before), change_{kLossChange, bound, noise_multiplier, /*of_total=*/true, /*divisor=*/lot} {}
  Depth depth() const override { return Depth::losses; }
  std::span<const float> before() const override { return before_; }
  std::vector<Number> numbers() const override { return {change_}; }
  double part(std::size_t, const RowFacts& row) const override { return row.loss - row.loss_before; }

 private:
  std::span<const float> before_;
  Number change_;
};

class AnnealedDpSgd : public Method {
 public:
  explicit AnnealedDpSgd(const RunContext& context)
      : options_(context.options.of<AnnealingOptions>()),
        sample_rate_(context.sample_rate.first()),
        steps_(context.steps),
        loss_noise_(context.noise_multiplier.first() == 0 ? 0 : options_.loss_noise.value_or(2 * context.noise_multiplier.first())) {}

  void step(Step& s) override {
    const std::vector<float> before(s.parameters().begin(), s.parameters().end());
    s.update(s.release(s.clipped_sum(s.sample())));
    const LossChange query(before, s.expected_lot(), options_.loss_clip, loss_noise_);
    Release change = s.release(s.clipped_sum(s.sample(), query));
    const bool better = change.scalar(kLossChange) < options_.acceptance * options_.loss_clip;
    if (!better) s.set_parameters(before);
  }

  Events more_events() const override { return {{Event::poisson_gaussian(sample_rate_, loss_noise_), steps_}}; }

 private:
  AnnealingOptions options_;
  double sample_rate_;
  std::int64_t steps_;
  double loss_noise_;
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
    .options = {reads<AnnealingOptions>()},
    .defaults = {{"lr", "8"}},
    .own_sampling = true,
    .other_noise = "loss-noise",
    .source = "Fu et al., SA-DPSGD, arXiv 2211.07218; Fu et al., DPSUR, VLDB 2024",
    .reading =
        "a step of the run is an attempt. The mean is over the expected lot; the clipped change moves by at most 2*C_v, whatever one row "
        "does. Moments, memory and filters keep the releases of rejected attempts: they are paid for. The defaults of C_v, sigma_v and "
        "beta_acc are ours. At sigma 0 the loss is not noised either.",
    .make = [](const RunContext& context) -> std::unique_ptr<Method> { return std::make_unique<AnnealedDpSgd>(context); },
};

}  // namespace fodp
