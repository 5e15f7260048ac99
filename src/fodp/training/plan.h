// A run before it starts: every public constant resolved, its parts made, its events known, its cost computed. Reads no row of the data.
//
// A plan is made once and never changes; the run that takes it uses the parts in it, so that the two cannot disagree.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"
#include "fodp/accounting/ledger.h"
#include "fodp/data/own_data.h"
#include "fodp/gradients/parameters.h"
#include "fodp/training/earlier_runs.h"
#include "fodp/training/options.h"
#include "fodp/training/stages.h"

namespace torch::nn {
class Module;
}

namespace fodp {

// What is public about the data that a plan is for.
struct DataFacts {
  DataSizes sizes;
  std::vector<std::int64_t> row_shape = {};  // of the first input of one row; empty where it is not known
  std::string unit = "row";                  // whom the guarantee is for (data/own_data.h)
  bool test_is_public = true;                // or there are no test rows
  bool predicts_number = false;              // the target is a number, not a class
  bool linear_of_unit_norm = false;          // a linear model of inputs of norm 1
  std::string recipe = {};                   // how inputs are made of what is read, such as the schema of a table; empty for named data
};

// How test rows that are private are tested on: sums over them are released with noise, so many times in the run.
struct PrivateTests {
  double noise = 0;  // standard deviation of the noise over what one unit can change, of all sums of one release together
  std::int64_t releases = 0;

  Event event() const { return Event::gaussian(noise); }
  Events events() const { return releases > 0 ? Events{{event(), releases}} : Events(); }
};

class Plan {
 public:
  Plan(Plan&&) noexcept = default;
  Plan& operator=(Plan&&) noexcept = default;

  // As resolved: nothing is left to default but what does not apply.
  const TrainOptions& options() const { return options_; }
  const Stages& stages() const { return stages_; }
  const RunContext& context() const { return context_; }
  const DataSizes& sizes() const { return sizes_; }
  const std::string& unit() const { return unit_; }  // "row", or the column that says whose row it is
  bool unit_is_row() const { return unit_ == "row"; }
  const PrivateTests& tests() const { return tests_; }  // no releases where the test rows are public, or there are none
  bool tests_are_private() const { return tests_.releases > 0; }

  const MethodEntry& method() const { return *stages_.method; }
  std::string_view model() const { return model_; }  // its name, or "own" for a model of one's own
  std::int64_t train_examples() const { return context_.train_examples; }
  std::int64_t parameters() const { return context_.parameters; }
  std::int64_t steps() const { return context_.steps; }
  std::int64_t steps_per_epoch() const { return context_.steps_per_epoch; }
  std::int64_t eval_every() const { return *options_.run.eval_every; }
  const Schedule& sample_rate() const { return context_.sample_rate; }
  const Schedule& noise_multiplier() const { return context_.noise_multiplier; }  // sigma
  Schedule expected_lot() const { return sample_rate().times(static_cast<double>(train_examples())); }
  double expected_lot_at(std::int64_t step) const { return static_cast<double>(train_examples()) * sample_rate().at(step, steps()); }
  double slack() const { return context_.slack; }  // of the sensitivity, for finite precision; no speed option changes it
  std::int64_t block_rows() const;                 // the most rows at once

  std::int64_t cycle() const { return parts_.mechanisms.front()->cycle(); }  // how many lots one event pays for; 1 but for correlated noise
  std::vector<double> independent_noise_weights() const { return parts_.mechanisms.front()->independent_noise_weights(); }
  const NoiseSchedule& noise() const { return parts_.mechanisms.front()->schedule(); }
  const EarlierRuns& earlier() const { return earlier_; }      // what was spent on the same rows before
  const Spent& spent_before() const { return spent_before_; }  // by them
  const Events& own_events() const { return own_events_; }     // of this run's steps
  const Events& events() const { return events_; }             // of earlier runs and this one
  double delta() const { return *options_.privacy.delta; }
  const Spent& spent() const { return spent_; }
  const Spent& spent_ideal() const { return spent_ideal_; }  // in exact arithmetic
  const std::optional<Budget>& budget() const { return budget_; }
  const std::vector<std::string>& insecure() const { return insecure_; }  // why the run is not private; empty if it is
  const std::vector<std::string>& warnings() const { return warnings_; }  // all of them, those of privacy first
  // What makes the guarantee weaker than its reader may think. The privacy statement has them, too, and they name no option.
  const std::vector<std::string>& privacy_warnings() const { return privacy_warnings_; }
  bool derives(std::string_view option) const;  // whether the option, as config.json spells it, followed from others
  const std::vector<std::string>& derived() const { return derived_; }  // options that followed from others
  // Whether nobody gave the rate or the steps, so that they are those of accounting/run_choice.h.
  bool rate_is_planned() const { return derives("sample_rate") && derives("lot"); }
  bool steps_are_planned() const { return derives("steps") && derives("epochs"); }
  bool lr_is_planned() const { return lr_is_planned_; }  // of a linear model of features: nobody gave it, and it follows from the noise
  const std::vector<std::string>& filled() const { return filled_; }  // options of stages that nobody gave: they follow from the rest
  bool is_private() const { return insecure_.empty(); }
  // Equal for plans that train the same: the same stages with the same options, sizes, steps and costs. Speed, seeds and files do not
  // count.
  std::uint64_t fingerprint() const;
  bool noiseless() const { return noise_multiplier().least() == 0; }

 private:
  friend class Planner;
  friend class PrivateSteps;
  Plan() = default;

  TrainOptions options_;
  Stages stages_{};
  RunContext context_;
  DataSizes sizes_{};
  std::string unit_ = "row";
  std::string recipe_;
  PrivateTests tests_;
  std::string model_;
  bool lr_is_planned_ = false;
  RunParts parts_;
  EarlierRuns earlier_;
  Events own_events_, events_;
  Spent spent_before_, spent_, spent_ideal_;
  std::optional<Budget> budget_;
  std::vector<std::string> insecure_, warnings_, privacy_warnings_, derived_, filled_;
};

// What a named model must be like for such data.
InputShape shape_for_model(const DataDescription& about);

// InputError for options that do not go together or a budget that no noise meets.
Plan make_plan(const TrainOptions& options, const DataSizes& sizes);
// The same for this model, whatever the options say of models and data.
Plan make_plan(const TrainOptions& options, const DataFacts& data, const torch::nn::Module& model);

}  // namespace fodp
