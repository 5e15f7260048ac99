// The trainable half of a norm layer: normalised * weight + bias, with weight and bias spread over the axes they do not have. Norm layers
// normalise with torch's functions and end with this.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace fodp {

// Returns normalised * weight + bias for `normalised` of shape [rows, ...]. Weight and bias, either of which may be undefined, have the
// sizes of its axes from `axis` on, which is at least 1, and are repeated over the other axes. Where they are trainable, they write to the
// tape.
at::Tensor recorded_affine(const at::Tensor& normalised, const at::Tensor& weight, const at::Tensor& bias, std::int64_t axis);

}  // namespace fodp
