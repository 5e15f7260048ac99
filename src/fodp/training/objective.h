// What a model is trained and judged by: a loss for each row, and a metric over the test rows. Chosen by what the rows' target is.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/data/rows.h"
#include "fodp/stages/stage.h"

namespace fodp {

struct Objective {
  std::string_view name;                                                           // "classification"
  std::string_view loss;                                                           // "cross entropy"
  std::string_view metric;                                                         // "accuracy"
  Target::Kind target;                                                             // the kind of target that it is for
  at::Tensor (*row_losses)(const at::Tensor& outputs, const at::Tensor& targets);  // one for each row
  // What each row adds to the sums that the metric is computed from, [rows, sums] in double; then the metric from the sums and the number
  // of rows. Where outputs and targets that are numbers lie in [-1, 1], the parts of a row are at most `part_bounds` away from 0.
  at::Tensor (*parts)(const at::Tensor& outputs, const at::Tensor& targets);
  std::vector<double> part_bounds;
  double (*value)(std::span<const double> sums, double rows);
  double (*error)(std::span<const double> sums, double rows) = nullptr;  // root of the mean squared error, of targets that are numbers
};

Table<Objective> objective_table();
const Objective& objective_for(const Target& target);

}  // namespace fodp
