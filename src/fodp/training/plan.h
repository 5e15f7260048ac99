// A run before it starts: every public constant resolved, its events known, its cost computed. Touches no data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/ledger.h"
#include "fodp/gradients/parameters.h"
#include "fodp/methods/method.h"
#include "fodp/training/options.h"

namespace torch::nn {
class Module;
}

namespace fodp {

struct Plan {
  TrainOptions options;  // as resolved: nothing left to default but what does not apply
  const MethodEntry* method;
  Stages stages;
  std::int64_t train_examples, test_examples, parameters;
  std::vector<LayerGroup> layers;
  Schedule sample_rate = 1;
  std::int64_t steps, steps_per_epoch, eval_every;
  Schedule noise_multiplier = 0;  // sigma
  double slack;   // of the sensitivity, for finite precision: that of the largest blocks, so that no speed option changes it
  Events events;  // of the whole run
  Spent spent, spent_ideal;
  std::optional<Budget> budget;
  std::vector<std::string> insecure;  // why the run is not private; empty if it is
  std::vector<std::string> warnings;

  bool is_private() const { return insecure.empty(); }
  Schedule expected_lot() const { return sample_rate.times(static_cast<double>(train_examples)); }
  double expected_lot_at(std::int64_t step) const { return static_cast<double>(train_examples) * sample_rate.at(step, steps); }
  bool noiseless() const { return noise_multiplier.least() == 0; }

  // What the method and the stages are made from, at a noise multiplier that may differ while it is sought.
  MethodContext method_context(const Schedule& noise_multiplier) const;
  ReleaseContext release_context(const Schedule& noise_multiplier) const;
  FractionalParameters filter_memory() const;
  std::optional<double> count_multiplier() const;  // noise of adaptive clipping's count over its sensitivity
  std::int64_t block_rows() const;                 // the most rows at once
  InputShape input_shape() const;
};

// The sizes that a plan is for: what the files hold, or before they are opened `--train-size` or the published size.
struct DataSizes {
  std::int64_t train, test;
};
DataSizes announced_sizes(const DataOptions& options);

// InputError for options that do not go together or a budget that no noise meets.
Plan make_plan(const TrainOptions& options, const DataSizes& sizes);
// The same for this model, whatever the options say of models and data.
Plan make_plan(const TrainOptions& options, const DataSizes& sizes, const torch::nn::Module& model);

// The stages that a run of these options has, and the options with the method's defaults filled in.
Stages resolve_stages(MethodOptions& options, const MethodEntry& method);

}  // namespace fodp
