// The metric and mean loss of a model on test rows, which are taken as public.
#pragma once

#include "fodp/data/rows.h"
#include "fodp/models/model.h"
#include "fodp/training/objective.h"

namespace fodp {

struct TestResult {
  double metric, loss;
};

TestResult evaluate(const Model& model, const Rows& test, const Objective& objective);

}  // namespace fodp
