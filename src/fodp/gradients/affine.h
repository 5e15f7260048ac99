// The trainable half of a norm layer: normalised * weight + bias, with weight and bias spread over the axes they do not have. Norm layers
// normalise with torch's functions and end with this.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace fodp {

// `normalised` is [rows, ...]; weight and bias (either may be undefined) have the sizes of its axes [axis, axis + their dimensions), axis
// >= 1, and write to the tape where they are trainable.
at::Tensor recorded_affine(const at::Tensor& normalised, const at::Tensor& weight, const at::Tensor& bias, std::int64_t axis);

}  // namespace fodp
