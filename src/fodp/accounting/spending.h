// What runs on the same rows have cost, told apart by run, so that a chain of runs (a model that starts from another's parameters, which
// started from a third's) counts each of them once.
#pragma once

#include <string>
#include <vector>

#include "fodp/accounting/event.h"

namespace fodp {

struct Spending {
  Events events;                           // of that run by itself
  std::string run = {};                    // its identity, 32 hexadecimal digits (training/private_steps.h); empty where it is not known
  std::vector<std::string> insecure = {};  // why that run was not private; empty if it was
  std::string unit = {};                   // whom it is private for: "row", or the column that says whose row it is; empty if not known
};

// Each run once: where two entries have one identity, each event is kept as often as it occurs in the one that has it more often. Entries
// without an identity may be different runs and all stay.
std::vector<Spending> each_run_once(const std::vector<Spending>& runs);

// The events of all, equal ones merged.
Events total_events(const std::vector<Spending>& runs);

}  // namespace fodp
