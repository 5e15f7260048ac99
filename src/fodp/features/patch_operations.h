// The steps of which patch features are made, on plain arrays. Each works on one image and sees no other.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/features/patch_sizes.h"

namespace fodp {

// Every first patch of an image, [positions^2, channels x 6 x 6]: less its mean, over the root of its variance plus 10.
void normalised_patches(const PatchSizes& sizes, const std::uint8_t* image, float* out);
// One of them, at pixel (y, x).
void normalised_patch(const PatchSizes& sizes, const std::uint8_t* image, std::int64_t y, std::int64_t x, float* out);

// Patches of a grid of components, [places^2, patch x patch x components]; a place of the grid has `stride` numbers, the first ones of
// which are used.
void grid_patches(const float* grid, std::int64_t side, std::int64_t stride, const PatchSizes::Second& layer, float* out);
// One of them, at place (y, x).
void grid_patch(const float* grid, std::int64_t side, std::int64_t stride, const PatchSizes::Second& layer, std::int64_t y, std::int64_t x,
                float* out);

// Makes each row's norm nearly the root of its width: p sqrt(width)/(|p| + .001).
void set_length(float* rows, std::int64_t count, std::int64_t width);
// Makes each row's norm 1/divisor: p/(|p| + 1e-6)/divisor.
void set_unit_norm(float* rows, std::int64_t count, std::int64_t width, double divisor);

// [count, atoms] -> [count, 2 atoms]: max(z - 1, 0), then max(-z - 1, 0).
void split_signs(const float* products, std::int64_t count, std::int64_t atoms, float* out);

// Each value v >= 0 becomes the root of v + 1e-4. The small number keeps the rounding of a value near 0 from being magnified.
void take_roots(float* values, std::int64_t count);

// The weights [to, from] that pool a line of places to cells: a Gaussian of so many cells' width about the centre of each, with sum 1.
at::Tensor pooling_weights(std::int64_t from, std::int64_t to, double sigma_in_cells);
// A square grid [from^2, channels] pooled along both sides to [to^2, channels]; `between` has room for [to, from, channels].
void pool(const at::Tensor& weights, const at::Tensor& grid, at::Tensor& between, at::Tensor out);

// Where mirroring an image moves each channel: atoms come as halves that mirror each other, once for each sign.
std::vector<std::int64_t> channel_mirror(std::int64_t half_atoms);
// A grid of 4 x 4 cells plus its mirror image, of which the left half says all: [4, 2, channels].
void fold(const float* grid, std::int64_t half_atoms, float* out);

}  // namespace fodp
