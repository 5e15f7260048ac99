// A run in the normal form in which the accountant of privacy loss distributions (pld.h) takes it, and what of it has a closed form.
#pragma once

#include <cstddef>
#include <vector>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/event.h"
#include "fodp/accounting/groups.h"

namespace fodp {

// The same multiset of events gives the same bits.
struct PldRun {
  double distance = 0;             // of all plain Gaussians together: sqrt(sum of 1/z^2)
  double revealed = 0;             // chance that a step without noise shows the record: delta at every epsilon
  std::size_t terms = 0;           // that were added up
  std::vector<CountedStep> parts;  // the sampled ones, distinct and sorted
  double count = 0;                // of the sampled ones

  bool empty() const { return distance == 0 && revealed == 0 && parts.empty(); }
  bool exact() const { return parts.empty() || (distance == 0 && count == 1 && parts[0].event.records == 1); }
};

// InputError for an event that is not known or out of range.
PldRun pld_run(const Events& events);

// No two neighbours are further apart in total variation than their events together: an upper bound on delta at every epsilon.
double total_variation(const PldRun& run);

// Of a run that is exact().
Interval exact_epsilon(const PldRun& run, double delta, Direction direction);
Interval exact_delta(const PldRun& run, double epsilon, Direction direction);

// The lower end of what the dearest part of a run costs if it happens once: the run costs at least that.
double dearest_part_epsilon(const PldRun& run, double delta, Direction direction);
double dearest_part_delta(const PldRun& run, double epsilon, Direction direction);

}  // namespace fodp
