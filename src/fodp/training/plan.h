// A run before it starts: every public constant resolved, its events known, its cost computed. Touches no data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/ledger.h"
#include "fodp/methods/method.h"
#include "fodp/training/options.h"

namespace torch::nn {
class Module;
}

namespace fodp {

struct Plan {
  TrainOptions options;  // as resolved: nothing left to default but what does not apply
  const MethodEntry* method;
  std::int64_t train_examples, test_examples, parameters;
  double sample_rate, expected_lot;
  std::int64_t steps, steps_per_epoch, eval_every;
  double noise_multiplier;  // sigma
  double slack;             // of the sensitivity, for finite precision: that of the largest blocks, so that no speed option changes it
  Events events;            // of the whole run
  Spent spent, spent_ideal;
  std::optional<Budget> budget;
  std::vector<std::string> insecure;  // why the run is not private; empty if it is
  std::vector<std::string> warnings;

  bool is_private() const { return insecure.empty(); }
  MethodContext method_context() const;
  std::int64_t block_rows() const;  // the most rows at once
  InputShape input_shape() const;
};

// The sizes that a plan is for: what the files hold, or before they are opened `--train-size` or the published size.
struct DataSizes {
  std::int64_t train, test;
};
DataSizes announced_sizes(const DataOptions& options);

// InputError for options that do not go together or a budget that no noise meets.
Plan make_plan(const TrainOptions& options, const DataSizes& sizes);
// The same for a model that has this many trainable parameters, whatever the options say of models and data.
Plan make_plan(const TrainOptions& options, const DataSizes& sizes, std::int64_t parameters);

std::int64_t count_trainable(const torch::nn::Module& model);

}  // namespace fodp
