// The gradient of a weight that meets a row at many positions: for row i the sum over positions t of b_it a_it^T, with a the layer's inputs
// and b its output gradients. Linear layers on sequences and convolutions (after unfolding) are all of this kind.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

namespace fodp {

// Adds to squared[i] the squared norm of row i's gradient, for inputs [rows, in, positions] and output gradients [rows, out, positions] in
// float32 with any strides. Of two forms, the one that is cheaper for the shape is used:
//   ghost        sum over t, s of (a_t . a_s)(b_t . b_s), in double: never forms the gradient. Where it is below kGhostCancels of
//                sum|a|^2 * sum|b|^2, positions cancel, and the other form is taken for that row.
//   per example  the gradient itself, a few rows at a time, squared in double.
// A row whose inputs have a squared sum of kHugeInputs or more counts as not finite: it gets an infinite norm.
// Memory beyond the arguments is bounded by kChunkElements numbers or one row's gradient.
void add_contracted_squared_norms(const at::Tensor& inputs, const at::Tensor& output_gradients, std::span<double> squared);

// Adds to squared[i] the squared norm of row i, in double. `rows` is [rows, ...] in float32 or bfloat16.
void add_squared_norms_of_rows(const at::Tensor& rows, std::span<double> squared);

// The sum of squares, computed in double.
double squared_norm(std::span<const float> values);

// Adds to reach[i] (tape.h) times * |row i of a|^2 * |row i of b|^2.
void add_reach(const at::Tensor& a, const at::Tensor& b, double times, std::span<double> reach);

inline constexpr double kGhostCancels = 1e-3;
// The weighted sum multiplies a row's inputs by its scaled output gradient in float32. Where that is subnormal it was rounded by up to
// 2^-150, which inputs this large would turn into a part of the sum as long as the clip norm (docs/finite-precision.md).
inline constexpr double kHugeInputs = 0x1p60;
inline constexpr std::int64_t kChunkElements = 1 << 20;

// Whether the ghost form is cheaper, by the number of multiplications of both forms. One in double counts as two in float.
constexpr bool ghost_is_cheaper(std::int64_t in, std::int64_t out, std::int64_t positions) { return 2 * positions * (in + out) < in * out; }

}  // namespace fodp
