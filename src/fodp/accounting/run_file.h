// What a run cost, from a file that says it: a list of steps, the summary.json of a training, or the directory of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"
#include "fodp/accounting/spending.h"
#include "fodp/base/fields.h"

namespace fodp {

// Equal steps, as the options of a command or as an entry of a list.
struct StepOptions {
  std::optional<double> sample_rate, noise_multiplier, beta;
  std::optional<std::int64_t> steps;

  static auto fields() {
    using Self = StepOptions;
    return std::tuple{
        field("sample-rate", &Self::sample_rate, "q: the chance of each record to be in a step's lot", above_up_to(0, 1)),
        field("noise-multiplier", &Self::noise_multiplier, "sigma: standard deviation of the noise over the clip norm",
              above_up_to(0, 1e6)),
        field("beta", &Self::beta, "weight of the current sum in a query with memory: charged at sigma/beta", above_up_to(0, 1), "1"),
        field("steps", &Self::steps, "T: how many steps", between(1, 1e12)),
    };
  }

  Composed event() const;  // needs all but beta
};

struct RunFile {
  Events events;               // all that the file says was spent, with what was spent before the run
  std::vector<Spending> runs;  // the same, run by run: the last one is the file's own
  // How it was accounted; nothing for a plain list.
  std::optional<double> delta;
  std::optional<AccountantKind> accountant;
  std::vector<std::string> warnings;  // why the figure may not be a guarantee
};

// `path` is a JSON list of {sample_rate, noise_multiplier, beta, steps} with the ranges of StepOptions; or the summary.json of a training,
// with what finite precision costs; or the directory of a run that holds one, or a ledger. `option` is the option that named the file, for
// messages. InputError names file, entry and field.
RunFile read_run_file(const std::string& path, std::string_view option);

}  // namespace fodp
