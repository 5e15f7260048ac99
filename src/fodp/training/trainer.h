// Runs a plan on a data set, evaluates on its test set, and tells how it went.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fodp/data/dataset.h"
#include "fodp/data/own_data.h"
#include "fodp/data/rows.h"
#include "fodp/files/state_dict.h"
#include "fodp/training/objective.h"
#include "fodp/training/plan.h"
#include "fodp/training/private_steps.h"

namespace fodp {

struct Evaluation {
  std::int64_t step;
  double epoch;
  double epsilon;                          // of the steps so far (PrivateSteps::epsilon_if_stop_was_fixed)
  double test_metric, test_loss, seconds;  // the metric of the run's objective: accuracy for classes; NaN without test rows
  double test_error = NAN;                 // root of the mean squared error, of targets that are numbers
  std::optional<PrivateSteps::InsecureDiagnostics> insecure;
};

struct Progress {
  std::int64_t step, steps;         // done, planned
  double seconds, test_metric;      // the latter as of the last evaluation
  std::function<double()> epsilon;  // of the steps so far (PrivateSteps::epsilon_if_stop_was_fixed)
};

// With what the run guarantees: `events` and `spent` are the plan's, also where the run was stopped early.
struct Result : Guarantee {
  std::string run;                      // its identity (PrivateSteps::name)
  std::vector<Evaluation> evaluations;  // the last one is the end of the run
  double best_test_metric = 0, seconds = 0;
  std::int64_t steps = 0;
  bool budget_spent = false;  // the run ended before its last step because steps that were done again used up the budget
  double clip_norm = 0;       // at the end: adaptive clipping moves it
};

struct Observers {
  std::function<void(const Evaluation&)> evaluated;
  std::function<bool(const Progress&)> stepped;  // false ends the run after this step
};

// Where a run keeps what must outlive its process.
struct RunFiles {
  std::filesystem::path ledger, checkpoint;
  std::string data_fingerprint = {};       // of the training files; a run goes on with the same ones only
  std::optional<std::int64_t> every = {};  // steps between checkpoints; about a minute if open
};

// The model that the options name for such data, at the parameters that a run of them starts from.
Model initial_model(const TrainOptions& options, const DataDescription& about);

// Rows as PrivateSteps takes them. They must outlive what uses this.
TrainingRows training_rows(const Rows& train);

// The loss of each row, times the weight of its class if there are weights (class_weights.h); of rows that come several to a unit
// (data/row_views.h), the mean of each unit's.
at::Tensor unit_losses(const Objective& objective, const at::Tensor& outputs, const at::Tensor& targets,
                       const at::Tensor& class_weights = {});

class Trainer {
 public:
  // Trains the model that the plan names. PrivacyError if it cannot be trained privately; InputError for a bad `init` file. Keeps a
  // reference to the data, which must outlive this.
  Trainer(Plan plan, const RunData& data);
  Trainer(Plan plan, const Dataset& data);
  // Trains a model of one's own, for which the plan was made (make_plan with that model), on rows of one's own; keeps references to these.
  Trainer(Plan plan, const Rows& train, const Rows& test, Model model);
  Trainer(Plan, Dataset&&) = delete;
  Trainer(Plan, RunData&&) = delete;
  ~Trainer();

  const Plan& plan() const;
  const Objective& objective() const;

  // Before run(): every charge is in the ledger file before its release is made, and the run is saved from time to time, when it is stopped
  // and at its end. If the files are there the run goes on from them; see PrivateSteps::load for what that costs and throws.
  void keep(const RunFiles& files);
  std::int64_t steps_taken() const;
  std::int64_t charges_lost() const;  // PrivateSteps::charges_lost

  Result run(const Observers& observers = {});

  StateDict state() const;  // the parameters now (their average, if the plan asks for one), and the buffers that a model may have

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace fodp
