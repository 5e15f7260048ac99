// DP-IS (importance sampling): rows take part with a probability in proportion to their clipped norm and then count alike.
//
// A rate that depends on the data cannot be charged, so sums are charged at the rate of the public floor of the total norm.
#include <algorithm>

#include "fodp/methods/method.h"

namespace fodp {
namespace {

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

constexpr char kNormTotal[] = "norm_total";

// The sum of the rows' clipped norms: one row moves it by at most C.
class NormTotal : public Query {
 public:
  NormTotal(double clip_norm, double noise_multiplier) : total_{kNormTotal, clip_norm, noise_multiplier} {}
  Depth depth() const override { return Depth::norms; }
  std::vector<Number> numbers() const override { return {total_}; }
  double part(std::size_t, const RowFacts& row) const override { return row.bounded; }

 private:
  Number total_;
};

// Rows kept with probability |gbar|/C, each counting with one length.
class Importance : public Query {
 public:
  Importance(double clip_norm, double length) : clip_norm_(clip_norm), length_(length) {}
  std::optional<double> length() const override { return length_; }
  bool draws_coins() const override { return true; }
  bool keeps(const RowFacts& row) const override { return row.coin < row.bounded / clip_norm_; }

 private:
  double clip_norm_, length_;
};

class DpIs : public Method {
 public:
  explicit DpIs(const RunContext& context)
      : N_(static_cast<double>(context.train_examples)),
        C_(context.clip_norm),
        b_(context.expected_lot()),
        floor_(*context.options.of<ImportanceOptions>().norm_floor),
        norm_noise_(context.noise_multiplier.first() == 0 ? 0 : context.options.of<ImportanceOptions>().norm_noise),
        epoch_(context.steps_per_epoch),
        epochs_((context.steps + epoch_ - 1) / epoch_) {}

  void step(Step& s) override {
    if (taken_++ % epoch_ == 0) {
      Release total = s.release(s.clipped_sum(s.sample({.sample_rate = 1}), NormTotal(C_, norm_noise_)));
      total_ = std::max(total.scalar(kNormTotal), floor_);
    }
    Lot candidates = s.sample({.sample_rate = std::min(1.0, b_ * C_ / total_), .charged_rate = charged_rate(0)});
    ClippedSum sum = s.clipped_sum(candidates, Importance(C_, std::max(total_, b_ * C_) / N_));
    s.update(s.release(std::move(sum)));
  }

  double charged_rate(double) const override { return std::min(1.0, b_ * C_ / floor_); }
  Events more_events() const override { return {{Event::gaussian(norm_noise_), epochs_}}; }

  void state(StateVisitor& visit) override {
    visit("total", total_);
    visit("taken", taken_);
  }

 private:
  double N_, C_, b_, floor_, norm_noise_;
  std::int64_t epoch_, epochs_;
  double total_ = 0;
  std::int64_t taken_ = 0;
};

void fill(OptionSet& options, const RunContext& context) {
  auto& importance = options.of<ImportanceOptions>();
  if (!importance.norm_floor) importance.norm_floor = static_cast<double>(context.train_examples) * context.clip_norm / 2;
}

void check(const RunContext& context) {
  check_input(!context.chosen.norm_moves && !context.chosen.clips_layers,
              "`clipping` {}, `group-clip`: {} keeps rows by the norm of their whole gradient against one clip norm; use a rule whose clip "
              "norm stays, and `group-clip` whole",
              context.chosen.clipping, context.chosen.method);
}

}  // namespace

extern const MethodEntry kDpIs = {
    .name = "dp-is",
    .summary = "importance sampling: rows are kept in proportion to their gradient's norm and then count alike",
    .formula =
        "an epoch: K = max(sum_i |gbar_i| + sigma_K*C*z, K_floor);  a step: candidates at rate L*C/K, kept with probability |gbar_i|/C;  "
        "S_t = sum (K/N)*gbar_i/|gbar_i| + sigma*(K/N)*Z_t;  theta <- theta - lr*S_t/L",
    .event = "SGM(min(1, L*C/K_floor), sigma), and Gaussian(sigma_K) an epoch",
    .options = {reads<ImportanceOptions>()},
    .defaults = {{"lr", "4"}},
    .own_sampling = true,
    .weighs_rows = true,
    .other_noise = "norm-noise",
    .source = "Wei et al., DPIS: An Enhanced Mechanism for Differentially Private SGD with Importance Sampling, CCS 2022",
    .reading =
        "sums are charged at the rate of K_floor, N*C/2 unless given: a rate that depends on the data cannot be charged. Where L*C exceeds "
        "K, every row is a candidate and K/N becomes L*C/N, which keeps the gradient unbiased. Candidates are thinned, so that no step "
        "goes over all rows. The default of sigma_K is ours.",
    .fill = fill,
    .check = check,
    .make = [](const RunContext& context) -> std::unique_ptr<Method> { return std::make_unique<DpIs>(context); },
};

}  // namespace fodp
