// DP-IS (importance sampling): rows take part with a probability in proportion to their clipped norm and then count alike.
//
// A rate that depends on the data cannot be charged, so sums are charged at the rate of the public floor of the total norm.
#include <algorithm>

#include "fodp/methods/method.h"

namespace fodp {
namespace {

class DpIs : public Method {
 public:
  explicit DpIs(const MethodContext& context) : context_(context), floor_(*context.importance.norm_floor) {}

  void step(Step& s) override {
    const double b = context_.expected_lot, C = context_.clip_norm, N = static_cast<double>(context_.train_examples);
    if (taken_++ % context_.steps_per_epoch == 0) {
      Release total = s.release(s.norm_total(s.sample({.sample_rate = 1}), norm_noise()));
      total_ = std::max(total.scalar("norm_total"), floor_);
    }
    Lot candidates = s.sample({.sample_rate = std::min(1.0, b * C / total_), .charged_rate = charged_rate(0)});
    ClippedSum sum = s.importance_sum(candidates, std::max(total_, b * C) / N);
    s.update(s.release(std::move(sum)));
  }

  double charged_rate(double) const override { return std::min(1.0, context_.expected_lot * context_.clip_norm / floor_); }

  Events more_events() const override {
    const std::int64_t epochs = (context_.steps + context_.steps_per_epoch - 1) / context_.steps_per_epoch;
    return {{Event::gaussian(norm_noise()), epochs}};
  }

 private:
  double norm_noise() const { return context_.noise_multiplier == 0 ? 0 : context_.importance.norm_noise; }

  MethodContext context_;
  double floor_, total_ = 0;
  std::int64_t taken_ = 0;
};

}  // namespace

extern const MethodEntry kDpIs = {
    .name = "dp-is",
    .summary = "importance sampling: rows are kept in proportion to their gradient's norm and then count alike",
    .formula =
        "an epoch: K = max(sum_i |gbar_i| + sigma_K*C*z, K_floor);  a step: candidates at rate L*C/K, kept with probability |gbar_i|/C;  "
        "S_t = sum (K/N)*gbar_i/|gbar_i| + sigma*(K/N)*Z_t;  theta <- theta - lr*S_t/L",
    .event = "SGM(min(1, L*C/K_floor), sigma), and Gaussian(sigma_K) an epoch",
    .own = OwnOptions::importance,
    .defaults = {{{"lr", "4"}}},
    .own_sampling = true,
    .source = "Wei et al., DPIS: An Enhanced Mechanism for Differentially Private SGD with Importance Sampling, CCS 2022",
    .reading =
        "sums are charged at the rate of K_floor, N*C/2 unless given: a rate that depends on the data cannot be charged. Where L*C exceeds "
        "K, every row is a candidate and K/N becomes L*C/N, which keeps the gradient unbiased. Candidates are thinned, so that no step "
        "goes over all rows. The default of sigma_K is ours.",
    .make = [](const MethodContext& context) -> std::unique_ptr<Method> { return std::make_unique<DpIs>(context); },
};

}  // namespace fodp
