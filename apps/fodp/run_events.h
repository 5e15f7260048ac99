// The run that a command is asked about: one kind of step by flags, or a run from a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flags.h"
#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"
#include "fodp/base/fields.h"

namespace fodp::app {

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

// What sampling, noise and neighbours are taken to be; for help and for people.
constexpr char kAssumptions[] =
    "Assumes Poisson sampling (each record is in each lot independently with probability q), Gaussian noise of standard deviation sigma*C "
    "on a sum clipped to C per record, and neighbours that differ by adding or removing one record. Exact arithmetic is assumed; a "
    "training "
    "adds what its finite precision costs.";

// A run from a file. What else the file says of how it was accounted is there, too: nothing for a plain list.
struct RunFile {
  Events events;
  std::optional<double> delta;
  std::optional<AccountantKind> accountant;
  std::vector<std::string> warnings;  // why the figure may not be a guarantee
};

// `path` is a JSON list of {sample_rate, noise_multiplier, beta, steps} with the ranges of the flags; or the summary.json of a training,
// with what finite precision costs; or the directory of a run that holds one. InputError names file, entry and field.
RunFile read_run(const std::string& path);

}  // namespace fodp::app
