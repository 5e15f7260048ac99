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
  // Sums over the rows of a block, which are added over blocks; then the metric from them and the number of rows.
  std::vector<double> (*sums)(const at::Tensor& outputs, const at::Tensor& targets);
  double (*value)(std::span<const double> sums, double rows);
};

Table<Objective> objective_table();
const Objective& objective_for(const Target& target);

}  // namespace fodp
