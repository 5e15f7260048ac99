// Runs a plan: the one loop that every method plugs into. Implements the four verbs of methods/step.h over a model, a data set, a ledger, a
// mechanism and an update rule.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fodp/accounting/ledger.h"
#include "fodp/data/dataset.h"
#include "fodp/gradients/clip.h"
#include "fodp/training/plan.h"
#include "fodp/training/state_dict.h"

namespace fodp {

// Norms of the parts of the last release (paper B.3) and un-noised views of its lot: not private.
struct InsecureDiagnostics {
  double train_loss = 0, clip_fraction = 0, mean_norm = 0, largest_norm = 0;
  double signal_norm = 0, memory_norm = 0, noise_memory_norm = 0, noise_norm = 0;
};

struct Evaluation {
  std::int64_t step;
  double epoch, epsilon, test_accuracy, test_loss, seconds;
  std::optional<InsecureDiagnostics> insecure;
};

struct Progress {
  std::int64_t step, steps;         // done, planned
  double seconds, test_accuracy;    // the latter as of the last evaluation
  std::function<double()> epsilon;  // spent by now
};

struct Result {
  std::vector<Evaluation> evaluations;  // the last one is the end of the run
  double best_test_accuracy = 0, seconds = 0;
  std::int64_t steps = 0;
  Events events;
  Spent spent, spent_ideal;
};

struct Observers {
  std::function<void(const Evaluation&)> evaluated;
  std::function<bool(const Progress&)> stepped;  // false ends the run after this step; what was spent is what is reported
};

class Trainer {
 public:
  // PrivacyError if the model cannot be trained privately; InputError for a bad --init file.
  Trainer(const Plan& plan, const Dataset& data);
  ~Trainer();

  Result run(const Observers& observers = {});

  StateDict state() const;  // the parameters now

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace fodp
