// Finds examples that mix where no layer's name shows it: in a reshape, a matrix product over the batch, a loss.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/gradients/clip.h"

namespace fodp {

// Changes one row at a time of a batch and looks at the outputs of the others. PrivacyError naming the rows. The batch is random normals of
// this shape (without the row dimension), or a sample of at least two rows that differ, such as tokens. Randomness of torch's own generator
// (dropout) is repeated, so it does not count as mixing.
void check_examples_do_not_mix(const std::function<at::Tensor(const at::Tensor&)>& forward, std::vector<std::int64_t> shape);
void check_examples_do_not_mix(const std::function<at::Tensor(const at::Tensor&)>& forward, const at::Tensor& sample);

// The same for all that a clipper sees, each row's loss and gradient, so that mixing in a loss or rows in another dimension than the first
// show too; and that nothing in the model changes. The rows are made up: only the shape and type of `like` are used, not what it holds.
// They are normal numbers, numbers from 0 to 1, and rows that end in zeros after different lengths; integers are 0 and 1. What mixes only
// with other values is not found.
void check_rows_do_not_mix(const Clipper& clipper, const torch::nn::Module& model, const Batch& like);

}  // namespace fodp
