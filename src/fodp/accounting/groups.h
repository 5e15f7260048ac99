// Runs whose steps all differ (schedules), made short: neighbours in (rate, noise) are taken together, and each group is replaced by equal
// steps that cost at least as much, and by equal steps that cost at most as much.
//
// From above: a step between two others, `low` and `high`, costs no more than one that tosses a public coin and takes `high` with chance
// `share`. docs/accounting.md proves it, and that one share for all steps of a group suffices. The excess is of second order in
// the width of a group where rate and noise grow apart from each other or one of them is constant, else of first order.
// From below: the smallest rate and the largest noise multiplier of the group.
#pragma once

#include <cstddef>
#include <vector>

#include "fodp/accounting/loss_grid.h"

namespace fodp {

// One kind of sampled step of a run, as often as it occurs.
struct CountedStep {
  SampledGaussian event;
  double count = 0;

  friend bool operator==(const CountedStep&, const CountedStep&) = default;
};

struct Group {
  SampledGaussian low, high;  // high costs at least what low does
  double share = 0;           // chance of high; 0 where they are equal
  SampledGaussian least;      // costs at most what any step of the group does
  SampledGaussian most;       // at least
  double count = 0;
};

// At most `most_groups` (at least 1) groups of steps with rates below 1 and noise above 0. They depend on the steps, not on their order.
std::vector<Group> group_steps(std::vector<CountedStep> steps, std::size_t most_groups);

// Enough groups that the run costs about a relative `tolerance` more with coins, or less with the least; no more than 288.
std::vector<Group> groups_above(const std::vector<CountedStep>& steps, double tolerance);
std::vector<Group> groups_below(const std::vector<CountedStep>& steps, double tolerance);

}  // namespace fodp
