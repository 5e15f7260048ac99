// Sums and noise on a grid whose step is a power of two. They are added as integers, so that a release is exact arithmetic: for the integer
// sum k and the ideal Gaussian Z, round(k + Z) is k + round(Z), which is post-processing of the ideal mechanism (docs/finite-precision.md).
#pragma once

#include <cstdint>
#include <span>

#include "fodp/noise/stream.h"

namespace fodp {

// The step of the grid, which is at most clip_norm * 2^-13 / sqrt(parameters) and depends on these public constants only.
double lattice_grid(double clip_norm, std::int64_t parameters);

// How much finite precision may add to the sensitivity of a clipped sum, relative to the clip norm: rounding to the grid, and float32
// arithmetic in a block of at most `block_rows` rows. docs/finite-precision.md derives it.
double sensitivity_slack(double clip_norm, std::int64_t parameters, std::int64_t block_rows);
// The largest such slack over all clip norms, for runs whose clip norm varies.
double largest_sensitivity_slack(std::int64_t block_rows);

// The step of the grid for a single number that one record changes by at most `sensitivity`. Each record's part is rounded towards zero, so
// that rounding adds nothing to the sensitivity.
double scalar_grid(double sensitivity);

// Adds round(values / grid) to `total`. FaultError for a value that is not finite or too large for the lattice.
void add_to_lattice(std::span<const float> values, double grid, std::span<std::int64_t> total);

// The number of coordinates in a block of noise. Block b covers [b * kNoiseBlock, (b + 1) * kNoiseBlock).
inline constexpr std::int64_t kNoiseBlock = 8192;

// Draws standard normals for the coordinates of block `block` of release `index`, at most kNoiseBlock of them.
void draw_normals(const RandomStream& stream, std::uint64_t index, std::uint32_t block, std::span<double> normals);
// Sets `noise` to round(normals * scale / grid).
void round_to_lattice(std::span<const double> normals, double scale, double grid, std::span<std::int64_t> noise);

// Does both at once: sets `noise` to round(N(0, (scale/grid)^2)) for the coordinates of block `block` of release `index`, at most
// kNoiseBlock of them.
void draw_lattice_noise(const RandomStream& stream, std::uint64_t index, std::uint32_t block, double scale, double grid,
                        std::span<std::int64_t> noise);

}  // namespace fodp
