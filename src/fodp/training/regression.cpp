// A number: squared error, judged by R2, the share of the targets' variance that the predictions explain.
#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/square.h>
#include <ATen/ops/stack.h>

#include "fodp/training/objective.h"

namespace fodp {
namespace {

// One output for each row, as [rows].
at::Tensor errors(const at::Tensor& outputs, const at::Tensor& targets) {
  check_input(outputs.numel() == targets.numel() && outputs.dim() >= 1, "a model for regression gives one number for each row");
  return outputs.reshape({-1}) - targets.reshape({-1});
}

}  // namespace

extern const Objective kRegression = {
    .name = "regression",
    .loss = "squared error",
    .metric = "r2",
    .target = Target::Kind::number,
    .row_losses = [](const at::Tensor& outputs, const at::Tensor& targets) { return errors(outputs, targets).square(); },
    .parts =
        [](const at::Tensor& outputs, const at::Tensor& targets) {
          const at::Tensor numbers = targets.reshape({-1}).to(at::kDouble);
          return at::stack({errors(outputs, targets).to(at::kDouble).square(), numbers, numbers.square()}, 1);
        },
    .part_bounds = {4, 1, 1},
    // Of targets that are all alike there is no variance to explain: 0.
    .value =
        [](std::span<const double> sums, double rows) {
          const double variance = sums[2] - sums[1] * sums[1] / rows;
          return variance > 0 ? 1 - sums[0] / variance : 0;
        },
    .error = [](std::span<const double> sums, double rows) { return std::sqrt(std::max(0.0, sums[0]) / rows); },
};

}  // namespace fodp
