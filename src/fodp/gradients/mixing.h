// Finds examples that mix where no layer's name shows it: in a reshape, a matrix product over the batch, a loss. One row of a small batch
// is changed at a time; if that changes anything of another row, the model is refused with a PrivacyError that names the rows. Randomness
// of torch's own generator, such as dropout, is repeated, so that it does not count as mixing. What mixes only with values that were not
// tried is not found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/gradients/clip.h"

namespace fodp {

// Looks at the outputs of a forward pass alone. The batch is random normals of this shape (without the row dimension), or a sample of at
// least two public rows that differ, such as tokens.
void check_examples_do_not_mix(const std::function<at::Tensor(const at::Tensor&)>& forward, std::vector<std::int64_t> shape);
void check_examples_do_not_mix(const std::function<at::Tensor(const at::Tensor&)>& forward, const at::Tensor& sample);

// Looks at each row's loss and gradient, as the clipper sees them, so that mixing in a loss or rows in another dimension than the first
// show too. It also refuses a model in which a parameter or a buffer changes. Where no rows can be found that the model takes, it throws an
// InputError with what the model said.
//
// With `sample`, the rows are these: at least two rows that differ, with the shapes and types of the training rows but public, since an
// error may quote them. Without it, rows are made up in the shape and type of `like`, a training row:
//   1. Real numbers are normal, then between 0 and 1, then rows that end in zeros after different lengths. Integers are 0 and 1.
//   2. If the model throws on some of these, as one that reads ids from a float tensor does, real numbers are 0 and 1 too.
//   3. If it throws on some of those as well, as one whose ids start at 100 does, whole numbers lie between the least and the largest whole
//      number of `like`.
//
// Privacy: `like` is private. Its values are looked at in case 3 only. They stay inside this function: no message quotes them, and an
// exception thrown on rows made from them is never passed on. What can depend on them is whether such a model is accepted. Giving a sample
// avoids even that.
void check_rows_do_not_mix(const Clipper& clipper, const torch::nn::Module& model, const Batch& like,
                           const std::optional<Batch>& sample = std::nullopt);

}  // namespace fodp
