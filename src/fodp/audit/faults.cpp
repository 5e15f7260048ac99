#include "fodp/audit/faults.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>

#include "fodp/accounting/pld.h"
#include "fodp/gradients/linear.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

constexpr double kClipNorm = 1;
constexpr std::int64_t kRows = 1200, kFeatures = 60, kClasses = 20, kSteps = 60, kSeed = 7;
constexpr double kSampleRate = .1, kNoise = 1.2;

void scale(ClippedRows& sum, double factor) {
  for (std::int64_t& value : sum.lattice) value = std::llround(static_cast<double>(value) * factor);
}

// Rows are summed as they are; the noise is for rows of the clip norm.
class NoClipping : public Fault {
  void change(PrivateOptions& options) override { options.clip.clip_norm = 1e3 * kClipNorm; }
  void sum(ClippedRows& sum, std::int64_t, std::int64_t) override {
    for (ClipGroup& group : sum.groups) group.clip_norm = kClipNorm;
  }
};

class NoiseHalved : public Fault {
  void noise(ClippedRows& passed_on, const SeenSum&) override {
    for (ClipGroup& group : passed_on.groups) group.clip_norm /= 2;
  }
};

// From the tenth step on rows count three times as much.
class LaterClipping : public Fault {
  void sum(ClippedRows& sum, std::int64_t, std::int64_t step) override {
    if (step >= 9) scale(sum, 3);
  }
};

// A fault of the noise knows what the mechanism is going to add.
class NoiseFault : public Fault {
 protected:
  void begin_run() override { releases_ = 0; }
  void change(PrivateOptions& options) override { seed_ = options.insecure_seed.value_or(0); }
  void noise(ClippedRows& passed_on, const SeenSum& seen) override {
    const RunKey key = RunKey::from_insecure_seed(static_cast<std::uint64_t>(seed_));
    const RandomStream stream(key, Purpose::noise);
    const auto drawn = [&](std::uint64_t release) {
      std::vector<std::int64_t> noise(passed_on.lattice.size());
      draw_lattice_noise(stream, release, 0, seen.noise_scale, passed_on.grid, noise);
      return noise;
    };
    change_noise(passed_on.lattice, drawn(0), drawn(releases_++));
  }
  virtual void change_noise(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& first,
                            const std::vector<std::int64_t>& now) = 0;

 private:
  std::int64_t seed_ = 0;
  std::uint64_t releases_ = 0;
};

// Every release has the noise of the first.
class SeedReused : public NoiseFault {
  void change_noise(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& now) override {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += first[k] - now[k];
  }
};

class BareCoordinate : public NoiseFault {
  void change_noise(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>&, const std::vector<std::int64_t>& now) override {
    sum[17] -= now[17];
  }
};

// The second half of the parameters has the noise of the first half.
class HalvesShareNoise : public NoiseFault {
  void change_noise(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>&, const std::vector<std::int64_t>& now) override {
    const std::size_t half = sum.size() / 2;
    for (std::size_t k = 0; k < half; ++k) sum[half + k] += now[k] - now[half + k];
  }
};

// The noise is right for the mean over a lot, and is put on the sum.
class MeanForSum : public Fault {
  void noise(ClippedRows& passed_on, const SeenSum&) override {
    for (ClipGroup& group : passed_on.groups) group.clip_norm /= kSampleRate * static_cast<double>(kRows);
  }
};

// The loss of each row is the mean over its batch, as PyTorch's losses are by default.
class MeanLoss : public Fault {
  RowLosses losses(RowLosses losses) override {
    return [losses = std::move(losses)](const Tensors& inputs, const at::Tensor& targets) {
      return losses(inputs, targets).mean().expand({inputs.rows()});
    };
  }
};

// The mean of the lot that was drawn, times the expected lot, is taken for the sum.
class RealisedLot : public Fault {
  void sum(ClippedRows& sum, std::int64_t rows, std::int64_t) override {
    scale(sum, kSampleRate * static_cast<double>(kRows) / static_cast<double>(std::max<std::int64_t>(1, rows)));
  }
};

// Rows come in a shuffled order, none again before all have come.
class Shuffled : public Fault {
  void begin_run() override {
    order_.resize(kRows);
    std::iota(order_.begin(), order_.end(), 0);
    engine_.seed(3);
    next_ = kRows;
    instead_.clear();
    drawing_ = false;
  }
  void begin_lot() override {
    const std::lock_guard lock(mutex_);
    drawing_ = true;
    instead_.clear();
  }
  Gather drawn(Gather gather) override {
    return [this, gather = std::move(gather)](std::span<const std::int64_t> rows) {
      std::vector<std::int64_t> chosen;
      {
        const std::lock_guard lock(mutex_);
        for (const std::int64_t row : rows) chosen.push_back(drawing_ ? instead_of(row) : row);
      }
      return gather(chosen);
    };
  }
  std::int64_t instead_of(std::int64_t row) {
    const auto [place, is_new] = instead_.try_emplace(row, 0);
    if (is_new) {
      if (next_ == kRows) std::ranges::shuffle(order_, engine_), next_ = 0;
      place->second = order_[next_++];
    }
    return place->second;
  }

  std::mutex mutex_;
  std::vector<std::int64_t> order_;
  std::mt19937_64 engine_;
  std::int64_t next_ = 0;
  bool drawing_ = false;
  std::map<std::int64_t, std::int64_t> instead_;  // of the rows that were drawn
};

// A part of the last sum, before its noise, is in the next release.
class UnnoisedMemory : public Fault {
  void begin_run() override { last_.clear(); }
  void noise(ClippedRows& passed_on, const SeenSum&) override {
    const std::vector<std::int64_t> now = passed_on.lattice;
    for (std::size_t k = 0; k < last_.size(); ++k) passed_on.lattice[k] += last_[k] / 2;
    last_ = now;
  }
  std::vector<std::int64_t> last_;
};

// Rows end where the longest row of their batch does. (Here a row's length is how many of its values are not 0.)
class PaddedToLongest : public Fault {
  Gather rows(Gather gather) override {
    return [gather = std::move(gather)](std::span<const std::int64_t> rows) {
      Batch batch = gather(rows);
      const at::Tensor values = batch.inputs[0];
      const at::Tensor places = at::arange(1, values.size(1) + 1);
      const at::Tensor longest = (values.ne(0) * places).max();
      return Batch{values.roll(longest.item<std::int64_t>(), 1), batch.targets};
    };
  }
};

template <class F>
std::unique_ptr<Fault> planted() {
  return std::make_unique<F>();
}

// Made-up rows: values of a class and of the row, the rest of a row is 0, as in padded texts.
TrainingRows made_up_rows() {
  at::manual_seed(5);
  const at::Tensor labels = at::arange(kRows).remainder(kClasses);
  at::Tensor values = at::randn({kRows, kFeatures}) + 2 * at::randn({kClasses, kFeatures}).index_select(0, labels);
  const at::Tensor lengths = at::arange(kRows).mul(7).remainder(kFeatures / 2).add(kFeatures / 2);
  values = values * at::arange(kFeatures).unsqueeze(0).lt(lengths.unsqueeze(1));
  return {.count = kRows, .gather = [values, labels](std::span<const std::int64_t> rows) {
            const at::Tensor chosen = at::tensor(at::ArrayRef<std::int64_t>(rows.data(), rows.size()), at::kLong);
            return Batch{values.index_select(0, chosen), labels.index_select(0, chosen)};
          }};
}

struct SmallModel : torch::nn::Module {
  SmallModel() {
    at::manual_seed(6);
    first = register_module("first", nn::Linear(kFeatures, 40));
    second = register_module("second", nn::Linear(40, kClasses));
  }
  at::Tensor forward(const at::Tensor& x) { return second->forward(first->forward(x).tanh()); }
  nn::Linear first{nullptr}, second{nullptr};
};

AuditReport audit_of_small_run(Fault* fault) {
  SmallModel model;
  PrivateOptions options{.insecure_seed = kSeed};
  options.privacy = {.noise_multiplier = kNoise, .delta = 1e-5, .sample_rate = kSampleRate, .steps = kSteps};
  options.clip.clip_norm = kClipNorm;
  options.speed.threads = 1;
  TrainingRows rows = made_up_rows();
  rows.random_rows = dynamic_cast<PaddedToLongest*>(fault) != nullptr;  // a careless declaration, which turns off a check before training
  const auto losses = [&model](const at::Tensor& x, const at::Tensor& y) {
    return at::cross_entropy_loss(model.forward(x), y, {}, at::Reduction::None);
  };
  return audit(AuditSubject{.model = model, .losses = losses, .rows = std::move(rows), .options = options, .fault = fault},
               {.canaries = 1000, .confidence = .95});
}

// Scores of canaries that were never put in.
double bound_of_null_scores() {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  CanaryScores scores;
  for (int i = 0; i < 1000; ++i) {
    scores.in.push_back({normal(engine), normal(engine)});
    scores.out.push_back({normal(engine), normal(engine)});
  }
  scores.of_first_run_in = scores.of_first_run_out = 1000;
  const Events events = {{Event::poisson_gaussian(kSampleRate, kNoise), kSteps}};
  const std::vector<CanaryLot> lots(kSteps, {kSampleRate, 1 / kNoise});
  return judge_canaries(scores, lots, events, 1e-5, PldAccountant(), .95).epsilon_lower;
}

}  // namespace

const std::vector<PlantedFault>& planted_faults() {
  static const std::vector<PlantedFault> faults = {
      {"no-clipping", "rows are summed as they are", planted<NoClipping>},
      {"noise-halved", "half of the noise that is charged for", planted<NoiseHalved>},
      {"later-clipping", "rows count three times as much from the tenth step on", planted<LaterClipping>},
      {"bare-coordinate", "one parameter has no noise", planted<BareCoordinate>},
      {"shared-noise", "half of the parameters has the noise of the other half", planted<HalvesShareNoise>},
      {"seed-reused", "every step has the noise of the first", planted<SeedReused>},
      {"mean-for-sum", "the noise of a mean is put on a sum", planted<MeanForSum>},
      {"mean-loss", "the loss of a row is the mean over its batch", planted<MeanLoss>},
      {"realised-lot", "the sum is divided by the lot that was drawn, not by the expected one", planted<RealisedLot>},
      {"shuffling", "rows come in a shuffled order instead of by Poisson sampling", planted<Shuffled>},
      {"unnoised-memory", "the memory keeps a sum without its noise", planted<UnnoisedMemory>},
      {"longest-row-padding", "rows are laid out by the longest row of their batch", planted<PaddedToLongest>},
  };
  return faults;
}

bool SelfTest::passes() const {
  return clean && null_epsilon == 0 && std::ranges::all_of(faults, [](const Found& fault) { return fault.caught; });
}

SelfTest audit_self_test(const AuditProgress& progress) {
  const auto say = [&](const std::string& part) {
    if (progress) progress(part);
  };
  SelfTest result;
  say("a sound run");
  const AuditReport sound = audit_of_small_run(nullptr);
  result.clean = sound.passes();
  result.clean_epsilon_lower = sound.epsilon_lower();
  result.claimed_epsilon = sound.claimed_epsilon;
  result.null_epsilon = bound_of_null_scores();
  for (const PlantedFault& planted : planted_faults()) {
    say("planted: " + planted.summary);
    const std::unique_ptr<Fault> fault = planted.make();
    const AuditReport report = audit_of_small_run(fault.get());
    SelfTest::Found found{.name = planted.name, .caught = !report.passes()};
    for (const AuditCheck& check : report.checks)
      if (check.holds == false) found.by.push_back(check.name);
    result.faults.push_back(std::move(found));
  }
  return result;
}

}  // namespace fodp
