// A model on test rows: by itself, which takes the rows as public, or as sums to be released with noise.
#pragma once

#include <vector>

#include "fodp/data/rows.h"
#include "fodp/models/model.h"
#include "fodp/training/objective.h"

namespace fodp {

struct TestResult {
  double metric, loss;
  double error = 0;  // root of the mean squared error, of targets that are numbers
};

TestResult evaluate(const Model& model, const Rows& test, const Objective& objective);

// The objective's sums over the rows, to which no row adds more than its `part_bounds`: outputs are clipped to [-1, 1] where targets are
// numbers, and what a row adds is rounded towards 0 to the grid of its bound (noise/lattice.h). As secret as the rows.
std::vector<double> bounded_sums(const Model& model, const Rows& test, const Objective& objective);

}  // namespace fodp
