#include "fodp/noise/lattice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

#include "fodp/base/check.h"
#include "fodp/base/wide.h"
#include "fodp/noise/gaussian.h"

static_assert(FLT_EVAL_METHOD == 0, "double must be computed as double");
#if defined(__FAST_MATH__)
#error "noise must not be compiled with -ffast-math"
#endif

namespace fodp {

namespace {

// Adding kToInteger, whose last bit is worth one, rounds a magnitude below kLatticeLimit to an integer.
constexpr double kLatticeLimit = 0x1p51;
constexpr double kToInteger = 0x1.8p52;

// The nearest integer, ties to even, for |x| < 2^51. Compilers turn this form into vector code that needs no AVX-512 conversion.
inline std::int64_t round_to_integer(double x) {
  return std::bit_cast<std::int64_t>(x + kToInteger) - std::bit_cast<std::int64_t>(kToInteger);
}

FODP_WIDE void add_rounded(const float* values, double inverse, std::int64_t* total, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) total[i] += round_to_integer(static_cast<double>(values[i]) * inverse);
}

FODP_WIDE void round_scaled(const double* values, double scale, std::int64_t* rounded, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) rounded[i] = round_to_integer(values[i] * scale);
}

// Whether every magnitude is below the limit. The comparison is false for infinity and for NaN.
FODP_WIDE bool all_below(const float* values, float limit, std::size_t count) {
  std::int32_t too_large = 0;
  for (std::size_t i = 0; i < count; ++i) too_large |= !(std::abs(values[i]) < limit);
  return !too_large;
}

// The inverse of the grid. The grid is a power of two, so that multiplying by the inverse divides exactly.
double inverse_of(double grid) {
  int exponent = 0;
  const bool power_of_two = std::isfinite(grid) && std::frexp(grid, &exponent) == .5;
  check_input(power_of_two && std::abs(exponent - 1) <= 100, "lattice: grid is {}: must be a power of two in [2^-100, 2^100]", grid);
  return 1 / grid;
}

void check_public_constants(double clip_norm, std::int64_t parameters) {
  check_input(clip_norm >= 0x1p-40 && clip_norm <= 0x1p40, "lattice: clip norm is {}: must be in [2^-40, 2^40]", clip_norm);
  check_input(parameters >= 1 && parameters <= std::int64_t{1} << 40, "lattice: {} parameters: must be in [1, 2^40]", parameters);
}

}  // namespace

double lattice_grid(double clip_norm, std::int64_t parameters) {
  check_public_constants(clip_norm, parameters);
  const double count = static_cast<double>(parameters);
  int exponent = 0;
  std::frexp(clip_norm * 0x1p-13 / std::sqrt(count), &exponent);
  const double grid = std::ldexp(1, exponent - 1);
  // The quotient above was rounded, so the bound grid * 2^13 * sqrt(d) <= C is checked once more. The sign of the fused multiply-add is
  // exact.
  const double root_at_most = clip_norm / (grid * 0x1p13);
  return std::fma(root_at_most, root_at_most, -count) < 0 ? grid / 2 : grid;
}

namespace {

// The slack, in the names of docs/finite-precision.md.
double slack_with(double rounding, std::int64_t block_rows) {
  check_input(block_rows >= 1 && block_rows <= 65536, "lattice: {} rows in a block: must be in [1, 65536]", block_rows);
  const double rows = static_cast<double>(block_rows);
  const double unit = 0x1p-24;
  const double gamma = (rows + 2) * unit / (1 - (rows + 2) * unit);
  const double norm_error = 0x1p-30;
  const double arithmetic = (1 + norm_error) * (1 + (2 * rows - 1) * gamma) - 1;
  return (arithmetic + rounding) * (1 + 0x1p-30);  // the last factor covers the rounding of this formula itself
}

}  // namespace

double sensitivity_slack(double clip_norm, std::int64_t parameters, std::int64_t block_rows) {
  check_public_constants(clip_norm, parameters);
  return slack_with(lattice_grid(clip_norm, parameters) * std::sqrt(static_cast<double>(parameters)) / clip_norm, block_rows);
}

double largest_sensitivity_slack(std::int64_t block_rows) { return slack_with(0x1p-13, block_rows); }

double scalar_grid(double sensitivity) { return lattice_grid(sensitivity, 1) * 0x1p-7; }

void add_to_lattice(std::span<const float> values, double grid, std::span<std::int64_t> total) {
  check_input(values.size() == total.size(), "lattice: {} values for a sum of {}: must be equal", values.size(), total.size());
  const double inverse = inverse_of(grid);
  // All values are checked before any is added, so that a refusal leaves the sum as it was.
  const double largest = kLatticeLimit * grid;
  const float limit = largest > FLT_MAX ? std::numeric_limits<float>::infinity() : static_cast<float>(largest);
  // The message names neither the coordinate nor its value, which would say something about the data.
  check_fault(all_below(values.data(), limit, values.size()),
              "lattice: a coordinate of the clipped sum is not finite or not below {} in magnitude", largest);
  add_rounded(values.data(), inverse, total.data(), values.size());
}

namespace {

double deviation_of(double scale, double grid) {
  const double deviation = scale * inverse_of(grid);
  // The largest normal is below 16, so that all noise is below 2^51.
  check_input(deviation >= 0 && deviation <= 0x1p47, "noise: scale is {} on a grid of {}: must be in [0, 2^47 grids]", scale, grid);
  return deviation;
}

// Calls f(start, normals) for pieces of the block's normals, in order.
template <class F>
void for_each_piece(const RandomStream& stream, std::uint64_t index, std::uint32_t block, std::size_t count, const F& f) {
  static_assert(kNoiseBlock % 2 == 0, "an odd size draws one word more");
  check_input(count <= kNoiseBlock, "noise: {} coordinates asked of one block: at most {}", count, kNoiseBlock);
  std::array<std::uint64_t, kNoiseBlock> words;
  stream.fill(index, block, std::span(words).first(count + count % 2));
  std::array<double, 512> normals;
  for (std::size_t start = 0; start < count; start += normals.size()) {
    const std::size_t size = std::min(normals.size(), count - start), drawn = size + size % 2;
    normals_from_words(std::span(words).subspan(start, drawn), std::span(normals).first(drawn));
    f(start, std::span<const double>(normals).first(size));
  }
}

}  // namespace

void draw_normals(const RandomStream& stream, std::uint64_t index, std::uint32_t block, std::span<double> normals) {
  for_each_piece(stream, index, block, normals.size(),
                 [&](std::size_t start, std::span<const double> piece) { std::ranges::copy(piece, normals.begin() + start); });
}

void round_to_lattice(std::span<const double> normals, double scale, double grid, std::span<std::int64_t> noise) {
  check_input(normals.size() == noise.size(), "noise: {} normals for {} coordinates: must be equal", normals.size(), noise.size());
  round_scaled(normals.data(), deviation_of(scale, grid), noise.data(), noise.size());
}

void draw_lattice_noise(const RandomStream& stream, std::uint64_t index, std::uint32_t block, double scale, double grid,
                        std::span<std::int64_t> noise) {
  check_input(noise.size() <= kNoiseBlock, "noise: {} coordinates asked of one block: at most {}", noise.size(), kNoiseBlock);
  if (deviation_of(scale, grid) == 0) return std::fill(noise.begin(), noise.end(), 0);
  for_each_piece(stream, index, block, noise.size(), [&](std::size_t start, std::span<const double> piece) {
    round_to_lattice(piece, scale, grid, noise.subspan(start, piece.size()));
  });
}

}  // namespace fodp
