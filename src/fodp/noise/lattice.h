// Sums and noise on a grid of a power of two, added as integers, so that a release is exact arithmetic: round(k + Z) for the integer sum k
// and the ideal Gaussian Z is k + round(Z), post-processing of the ideal mechanism (docs/finite-precision.md).
#pragma once

#include <cstdint>
#include <span>

#include "fodp/noise/stream.h"

namespace fodp {

// The grid from public constants only: the clip norm and the number of parameters. At most clip_norm * 2^-13 / sqrt(parameters).
double lattice_grid(double clip_norm, std::int64_t parameters);

// How much finite precision may add to the sensitivity of a clipped sum, relative to the clip norm: rounding to the grid, and float32
// arithmetic in a block of at most `block_rows` rows. docs/finite-precision.md derives it.
double sensitivity_slack(double clip_norm, std::int64_t parameters, std::int64_t block_rows);
// The most that it is for any clip norm: for runs whose clip norm varies.
double largest_sensitivity_slack(std::int64_t block_rows);

// The grid of a number by itself that one record moves by at most `sensitivity`. Each record's part is rounded to it towards zero, so that
// there is no slack.
double scalar_grid(double sensitivity);

// total += round(values / grid). FaultError for a value that is not finite or too large for the lattice.
void add_to_lattice(std::span<const float> values, double grid, std::span<std::int64_t> total);

// Coordinates of one block of noise: block b covers [b * kNoiseBlock, (b + 1) * kNoiseBlock).
inline constexpr std::int64_t kNoiseBlock = 8192;

// Standard normals of the coordinates of block `block` of release `index`. normals.size() <= kNoiseBlock.
void draw_normals(const RandomStream& stream, std::uint64_t index, std::uint32_t block, std::span<double> normals);
// noise = round(normals * scale / grid).
void round_to_lattice(std::span<const double> normals, double scale, double grid, std::span<std::int64_t> noise);

// Both at once: noise = round(N(0, (scale/grid)^2)) for the coordinates of block `block` of release `index`. noise.size() <= kNoiseBlock.
void draw_lattice_noise(const RandomStream& stream, std::uint64_t index, std::uint32_t block, double scale, double grid,
                        std::span<std::int64_t> noise);

}  // namespace fodp
