// Classes: cross entropy of the outputs' softmax, judged by the share of rows whose largest output is their class.
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>

#include "fodp/training/objective.h"

namespace fodp {

extern const Objective kClassification = {
    .name = "classification",
    .loss = "cross entropy",
    .metric = "accuracy",
    .target = Target::Kind::classes,
    .row_losses = [](const at::Tensor& outputs,
                     const at::Tensor& targets) { return at::cross_entropy_loss(outputs, targets, /*weight=*/{}, at::Reduction::None); },
    .parts = [](const at::Tensor& outputs,
                const at::Tensor& targets) { return outputs.argmax(1).eq(targets).to(at::kDouble).unsqueeze(1); },
    .part_bounds = {1},
    .value = [](std::span<const double> sums, double rows) { return sums[0] / rows; },
};

}  // namespace fodp
