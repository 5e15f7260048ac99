#include "fodp/audit/audit.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <torch/nn/module.h>

#include "fodp/accounting/pld.h"
#include "fodp/audit/noise_statistics.h"
#include "fodp/audit/replay.h"
#include "fodp/base/check.h"
#include "fodp/noise/lattice.h"
#include "fodp/training/plan.h"

namespace fodp {
namespace {

constexpr std::int64_t kMostRuns = 10;

// Measures the noise, the lots and the canaries of whole runs.
class Observer : public Watcher {
 public:
  Observer(const Plan& plan, std::int64_t canaries, std::mt19937_64& coins)
      : weights_(plan.independent_noise_weights()),
        lots_(plan.train_examples()),
        canaries_(canaries, plan.train_examples(), weights_, coins) {}

  void pass_on(const SeenSum& seen, ClippedRows& passed_on) override {
    if (!last_lot_ || *last_lot_ != seen.lot_number) lots_.add(seen.lot, seen.rows);
    last_lot_ = seen.lot_number;
    canaries_.pass_on(seen, passed_on);
    passed_on_ = passed_on;
  }

  void released(const SeenSum& seen) override {
    canaries_.released(seen);
    for (std::size_t k = 0; k < seen.noised_numbers.size(); ++k) add_number(seen, k);
    if (seen.noised.empty() || !(seen.noise_scale > 0)) return;
    std::vector<double> noise = seen.noised;
    for (std::size_t k = 0; k < noise.size(); ++k)
      noise[k] = (noise[k] - static_cast<double>(passed_on_.lattice[k]) * seen.sum.grid) / seen.noise_scale;
    noise_.add(independent(std::move(noise)));
  }

  NoiseStatistics& noise() { return noise_; }
  const NoiseStatistics& numbers() const { return numbers_; }
  const SamplerStatistics& lots() const { return lots_; }
  Canaries& canaries() { return canaries_; }

 private:
  // Combined with earlier noise such that it does not depend on it, where the mechanism's does.
  std::vector<double> independent(std::vector<double> noise) {
    if (weights_.size() == 1) return noise;
    earlier_.push_front(std::move(noise));
    if (earlier_.size() > weights_.size()) earlier_.pop_back();
    std::vector<double> out(earlier_.front().size(), 0);
    for (std::size_t k = 0; k < earlier_.size(); ++k)
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += weights_[k] * earlier_[k][i];
    return out;
  }

  void add_number(const SeenSum& seen, std::size_t k) {
    const BoundedScalar& scalar = seen.sum.scalars[k];
    const double exact = static_cast<double>(passed_on_.scalar_lattice[k]) * scalar_grid(scalar.sensitivity);
    const double noise = (seen.noised_numbers[k] - exact) / (scalar.noise_multiplier * scalar.sensitivity);
    numbers_.add({&noise, 1});
  }

  std::vector<double> weights_;
  SamplerStatistics lots_;
  Canaries canaries_;
  NoiseStatistics noise_, numbers_;
  std::optional<std::uint64_t> last_lot_;
  ClippedRows passed_on_;
  std::deque<std::vector<double>> earlier_;
};

class Audit {
 public:
  Audit(const AuditSubject& subject, const AuditOptions& asked, const AuditProgress& progress)
      : subject_(subject), asked_(asked), progress_(progress), claim_(claimed_plan()) {
    // From here on the noise is given, so that no run calibrates or refuses it again; what earlier runs cost is not this run's doing.
    subject_.options.privacy.epsilon.reset();
    subject_.options.privacy.noise_multiplier = claim_.noise_multiplier();
    subject_.options.privacy.delta = claim_.delta();
    subject_.options.spent.clear();
    if (subject_.start.empty()) subject_.start = values_of(subject_.model);
  }

  AuditReport run() {
    AuditReport report{.claimed_epsilon = claim_.spent().epsilon, .delta = claim_.delta(), .confidence = asked_.confidence};
    const Restored restored{*this};
    try {
      say("replaying steps with and without single records");
      report.checks = replay_checks(subject_, replay_seed());
      report.checks.insert(report.checks.begin(), {"rows", true, "the model and the function that fetches rows were accepted"});
      observe(report);
    } catch (const PrivacyError& refused) {
      report.checks.push_back({"rows", false, fmt::format("refused: {}", refused.what())});
    }
    return report;
  }

 private:
  struct Restored {  // whatever happens
    ~Restored() { audit.restore(); }
    Audit& audit;
  };

  void say(const std::string& part) const {
    if (progress_) progress_(part);
  }

  Plan claimed_plan() const {
    const TrainOptions options{subject_.options, {}, {}, {}};
    Plan plan = make_plan(options, DataFacts{.sizes = {subject_.rows.count, 0}, .row_shape = row_shape()}, subject_.model);
    check_input(!plan.noiseless(), "the run has no noise: it is not private, and there is nothing to audit");
    return plan;
  }

  std::vector<std::int64_t> row_shape() const {
    const Tensors inputs = subject_.rows.gather(std::vector<std::int64_t>{0}).inputs;
    return inputs.size() > 0 && inputs[0].dim() > 0 ? inputs[0].sizes().slice(1).vec() : std::vector<std::int64_t>();
  }

  std::uint64_t replay_seed() const {
    return subject_.options.insecure_seed ? static_cast<std::uint64_t>(*subject_.options.insecure_seed) : 1;
  }

  static std::vector<float> values_of(torch::nn::Module& model) {
    const FlatParameters flat(model);
    return {flat.values().begin(), flat.values().end()};
  }

  void restore() {
    FlatParameters flat(subject_.model);
    std::ranges::copy(subject_.start, flat.values().begin());
  }

  // Whole runs, with secret randomness unless a seed was asked for.
  void observe(AuditReport& report) {
    std::mt19937_64 coins(subject_.options.insecure_seed ? replay_seed() : std::random_device{}());
    CanaryScores scores;
    std::vector<CanaryLot> lots;
    std::int64_t runs = 1;
    for (std::int64_t run = 0; run < runs; ++run) {
      say(run == 0 ? fmt::format("training {} steps and looking for canaries", claim_.steps())
                   : fmt::format("training again for more canaries, {} of {}", run + 1, runs));
      Observer observer(claim_, asked_.canaries, coins);
      const Events charged = train(observer, run);
      const std::vector<CanaryScore> in = observer.canaries().scores(true), out = observer.canaries().scores(false);
      scores.in.insert(scores.in.end(), in.begin(), in.end());
      scores.out.insert(scores.out.end(), out.begin(), out.end());
      if (run > 0) continue;
      scores.of_first_run_in = static_cast<std::int64_t>(in.size()), scores.of_first_run_out = static_cast<std::int64_t>(out.size());
      lots = observer.canaries().lots();
      report.checks.push_back(charges(charged));
      add_checks(report, observer);
      const std::int64_t of_one = std::max<std::int64_t>(1, observer.canaries().count());
      runs = std::min(kMostRuns, (asked_.canaries + of_one - 1) / of_one);
    }
    say("computing the bound");
    report.canaries = judge_canaries(scores, lots, claim_.own_events(), claim_.delta(), PldAccountant(), asked_.confidence);
    const CanaryResult& found = report.canaries;
    report.checks.push_back(
        {"canaries", found.epsilon_lower <= report.claimed_epsilon,
         fmt::format(
             "epsilon is at least {:.4f} with confidence {}, by {} canaries in {} run{}: {:.4f} if the mechanism is the announced one "
             "with some other noise, {:.4f} by counting, {:.4f} from one run; a sound run shows about {:.4f} in an audit of this size",
             found.epsilon_lower, asked_.confidence, found.canaries, runs, runs == 1 ? "" : "s", found.gaussian, found.counted,
             found.one_run, found.of_sound_run)});
  }

  // Returns what was charged.
  Events train(Observer& observer, std::int64_t number) {
    PrivateOptions options = subject_.options;
    if (options.insecure_seed) *options.insecure_seed += number;
    auto rows = std::make_shared<WatchedRows>(subject_.fault ? subject_.fault->rows(subject_.rows.gather) : subject_.rows.gather,
                                              subject_.rows.gather_drawn);
    WatchedRun run(subject_, std::move(options), rows, observer);
    while (!run.done()) run.step();
    observer.canaries().end_of_run();
    return run.events();
  }

  AuditCheck charges(const Events& charged) const {
    const double epsilon = PldAccountant().epsilon(charged, claim_.delta()).epsilon;
    const double claimed = PldAccountant().epsilon(claim_.own_events(), claim_.delta()).epsilon;
    return {"charges", epsilon <= claimed * (1 + 1e-9),
            fmt::format("what the run charged adds up to epsilon {}, what was planned to {}", upper_text(epsilon), upper_text(claimed))};
  }

  void add_checks(AuditReport& report, Observer& observer) const {
    for (AuditCheck& check : observer.noise().checks(asked_.confidence)) report.checks.push_back(std::move(check));
    if (observer.numbers().count() > 0) {
      AuditCheck numbers = observer.numbers().checks(asked_.confidence).front();
      report.checks.push_back({"noise.numbers", numbers.holds, numbers.what});
    }
    for (AuditCheck& check : observer.lots().checks()) report.checks.push_back(std::move(check));
  }

  AuditSubject subject_;
  const AuditOptions asked_;
  const AuditProgress& progress_;
  Plan claim_;
};

}  // namespace

bool AuditReport::passes() const {
  return std::ranges::none_of(checks, [](const AuditCheck& check) { return check.holds == false; });
}

AuditReport audit(const AuditSubject& subject, const AuditOptions& asked, const AuditProgress& progress) {
  return Audit(subject, asked, progress).run();
}

AuditReport audit(torch::nn::Module& model, RowLosses losses, TrainingRows rows, const PrivateOptions& options, const AuditOptions& asked,
                  const AuditProgress& progress) {
  return audit(AuditSubject{.model = model, .losses = std::move(losses), .rows = std::move(rows), .options = options}, asked, progress);
}

}  // namespace fodp
