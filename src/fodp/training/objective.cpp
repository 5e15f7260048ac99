#include "fodp/training/objective.h"

#include <algorithm>

namespace fodp {

// Every objective: one line each. The first one for a kind of target is that of rows with such targets.
#define FODP_OBJECTIVES(M, Entry) \
  M(Entry, kClassification)       \
  M(Entry, kRegression)

FODP_TABLE(objective_table, Objective, FODP_OBJECTIVES)

const Objective& objective_for(const Target& target) {
  const auto table = objective_table();
  const auto found = std::ranges::find_if(table, [&](const Objective* objective) { return objective->target == target.kind; });
  check_input(found != table.end(), "the rows' target is of a kind that no objective is for");
  return **found;
}

}  // namespace fodp
