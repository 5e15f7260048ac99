#include "fodp/training/earlier_runs.h"

#include "fodp/accounting/run_file.h"
#include "fodp/base/check.h"
#include "fodp/training/model_file.h"

namespace fodp {
namespace {

// `option` and `name` say where these runs were told of.
void add(EarlierRuns& earlier, const std::vector<Spending>& runs, const std::string& option, const std::string& name) {
  for (const Spending& run : runs) {
    earlier.runs.push_back(run);
    for (const std::string& reason : run.insecure)
      earlier.insecure.push_back(fmt::format("{}: {} is of a run that was not private ({})", option, name, reason));
  }
  earlier.names += (earlier.names.empty() ? "" : ", ") + name;
}

void add_start(EarlierRuns& earlier, const RunOptions& run) {
  check_input(!run.init_public || run.init, "`init-public` says what the parameters of `init` cost: give that, too");
  if (!run.init) return;
  const std::optional<std::vector<Spending>> cost = cost_of_model(*run.init);
  const StartCost known = cost ? StartCost::spent : StartCost::unknown;
  earlier.started_from = {*run.init, run.init_public ? StartCost::declared_public : known};
  if (cost && !run.init_public) add(earlier, *cost, "init", *run.init);
}

}  // namespace

EarlierRuns earlier_runs(const TrainOptions& options) {
  EarlierRuns earlier;
  add_start(earlier, options.run);
  for (const std::string& file : options.run.spent.names) add(earlier, read_run_file(file, "spent").runs, "spent", file);
  if (!options.spent.empty()) add(earlier, options.spent, "spent", "an earlier run");
  earlier.runs = each_run_once(earlier.runs);
  earlier.events = total_events(earlier.runs);
  return earlier;
}

void check_same_unit(const EarlierRuns& earlier, const std::string& unit) {
  for (const Spending& run : earlier.runs)
    check_privacy(
        run.unit.empty() || run.unit == unit,
        "an earlier run on these rows ({}) protects each {}, and this one each {}: what the one cost does not say what it cost the "
        "other's units, so that they cannot be added up; train with the same privacy unit, or from parameters that owe nothing to "
        "these rows (`init-public`)",
        earlier.names, run.unit, unit);
}

}  // namespace fodp
