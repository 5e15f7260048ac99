// Runs a plan on a data set, evaluates on its test set, and tells how it went.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fodp/data/dataset.h"
#include "fodp/data/rows.h"
#include "fodp/files/state_dict.h"
#include "fodp/training/objective.h"
#include "fodp/training/plan.h"
#include "fodp/training/private_steps.h"

namespace fodp {

struct Evaluation {
  std::int64_t step;
  double epoch, epsilon, test_metric, test_loss, seconds;  // the metric of the run's objective: accuracy for classes
  std::optional<PrivateSteps::InsecureDiagnostics> insecure;
};

struct Progress {
  std::int64_t step, steps;         // done, planned
  double seconds, test_metric;      // the latter as of the last evaluation
  std::function<double()> epsilon;  // spent by now
};

struct Result {
  std::vector<Evaluation> evaluations;  // the last one is the end of the run
  double best_test_metric = 0, seconds = 0;
  std::int64_t steps = 0;
  double clip_norm = 0;  // at the end: adaptive clipping moves it
  Events events;
  Spent spent, spent_ideal;
};

struct Observers {
  std::function<void(const Evaluation&)> evaluated;
  std::function<bool(const Progress&)> stepped;  // false ends the run after this step; what was spent is what is reported
};

class Trainer {
 public:
  // Trains the model that the plan names. PrivacyError if it cannot be trained privately; InputError for a bad `init` file. Keeps a
  // reference to the data, which must outlive this.
  Trainer(Plan plan, const Dataset& data);
  // Trains a model of one's own, for which the plan was made (make_plan with that model), on rows of one's own; keeps references to these.
  Trainer(Plan plan, const Rows& train, const Rows& test, Model model);
  Trainer(Plan, Dataset&&) = delete;
  ~Trainer();

  const Plan& plan() const;
  const Objective& objective() const;

  Result run(const Observers& observers = {});

  StateDict state() const;  // the parameters now (their average, if the plan asks for one), and the buffers that a model may have

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace fodp
