// Accuracy and mean loss of a model on a test set, which is taken as public.
#pragma once

#include "fodp/data/dataset.h"
#include "fodp/models/model.h"

namespace fodp {

struct TestResult {
  double accuracy, loss;
};

TestResult evaluate(const Model& model, const Examples& test);

// Cross entropy of each row.
at::Tensor row_cross_entropy(const at::Tensor& outputs, const at::Tensor& targets);

}  // namespace fodp
