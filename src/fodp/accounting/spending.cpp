#include "fodp/accounting/spending.h"

#include <algorithm>

#include "fodp/accounting/merged_events.h"

namespace fodp {

std::vector<Spending> each_run_once(const std::vector<Spending>& runs) {
  std::vector<Spending> once;
  for (const Spending& next : runs) {
    const auto known = next.run.empty() ? once.end() : std::ranges::find(once, next.run, &Spending::run);
    if (known == once.end()) {
      once.push_back(next);
      continue;
    }
    known->events = covering(known->events, next.events);
    if (known->unit.empty()) known->unit = next.unit;
    for (const std::string& reason : next.insecure)
      if (std::ranges::find(known->insecure, reason) == known->insecure.end()) known->insecure.push_back(reason);
  }
  return once;
}

Events total_events(const std::vector<Spending>& runs) {
  MergedEvents all;
  for (const Spending& run : runs) all.add(run.events);
  return all.events();
}

}  // namespace fodp
