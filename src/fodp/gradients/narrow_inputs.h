// A linear layer whose inputs are kept in bfloat16, as features are, and whose weights are float32. bfloat16 is float32 without its lower
// 16 bits: widening is exact, so that what is computed here is what the inputs widened to float32 give, up to the order of additions. Each
// function reads the inputs once and widens them where they are used, which saves most of the memory traffic of a step.
//
// A row of a result depends on that row alone, to the last bit, and the bits do not depend on the processor (base/wide.h).
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

namespace fodp {

// Whether the functions below are for such inputs and weights: bfloat16 [rows, in] and so few outputs that a BLAS would not be faster.
bool is_narrow(const at::Tensor& inputs, const at::Tensor& weight);

// [rows, out], for inputs [rows, in] and weight [out, in].
at::Tensor narrow_products(const at::Tensor& inputs, const at::Tensor& weight);

// Writes the sum over rows of gradients[row, o] * inputs[row, i] to sum[o, i], for gradients [rows, out] in float32. Rows are added one
// after the other.
void write_narrow_sum(const at::Tensor& gradients, const at::Tensor& inputs, at::Tensor& sum);

// The sum of squares, computed in double.
double narrow_squared_norm(std::span<const std::uint16_t> values);

// The bits of a contiguous bfloat16 tensor.
const std::uint16_t* narrow_bits(const at::Tensor& values);

}  // namespace fodp
