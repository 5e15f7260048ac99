#include "fodp/features/patch_operations.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "fodp/base/wide.h"

namespace fodp {
namespace {

constexpr std::int64_t kPatch = PatchSizes::kPatch, kCells = PatchSizes::kCells;

FODP_WIDE void times(float factor, float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

FODP_WIDE void both_signs(const float* products, std::int64_t count, float* positive, float* negative) {
  for (std::int64_t i = 0; i < count; ++i) {
    positive[i] = products[i] > 1 ? products[i] - 1 : 0;
    negative[i] = products[i] < -1 ? -products[i] - 1 : 0;
  }
}

FODP_WIDE void add(const float* a, const float* b, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

FODP_WIDE void roots(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = std::sqrt(values[i] + 1e-4f);
}

// The squares of a row in eight sums, so that they can be added side by side.
FODP_WIDE double squared_norm(const float* row, std::int64_t width) {
  float part[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= width; i += 8)
    for (std::int64_t k = 0; k < 8; ++k) part[k] += row[i + k] * row[i + k];
  double sum = 0;
  for (const float value : part) sum += value;
  for (; i < width; ++i) sum += row[i] * row[i];
  return sum;
}

}  // namespace

void normalised_patch(const PatchSizes& sizes, const std::uint8_t* image, std::int64_t y, std::int64_t x, float* out) {
  const std::int64_t side = sizes.image.side, count = sizes.patch_values();
  std::int64_t sum = 0, squares = 0;
  float* to = out;
  for (std::int64_t c = 0; c < sizes.image.channels; ++c)
    for (std::int64_t row = y; row < y + kPatch; ++row) {
      const std::uint8_t* from = image + (c * side + row) * side + x;
      for (std::int64_t i = 0; i < kPatch; ++i) {
        sum += from[i], squares += from[i] * from[i];
        *to++ = from[i];
      }
    }
  const double n = static_cast<double>(count), mean = static_cast<double>(sum) / n;
  const double variance = std::max(0.0, static_cast<double>(squares) / n - mean * mean);
  const auto centre = static_cast<float>(mean), scale = static_cast<float>(1 / std::sqrt(variance + 10));
  for (std::int64_t i = 0; i < count; ++i) out[i] = (out[i] - centre) * scale;
}

void normalised_patches(const PatchSizes& sizes, const std::uint8_t* image, float* out) {
  const std::int64_t places = sizes.positions(), values = sizes.patch_values();
  for (std::int64_t y = 0; y < places; ++y)
    for (std::int64_t x = 0; x < places; ++x, out += values) normalised_patch(sizes, image, y * sizes.stride, x * sizes.stride, out);
}

void grid_patch(const float* grid, std::int64_t side, std::int64_t stride, const PatchSizes::Second& layer, std::int64_t y, std::int64_t x,
                float* out) {
  for (std::int64_t dy = 0; dy < layer.patch; ++dy)
    for (std::int64_t dx = 0; dx < layer.patch; ++dx) out = std::copy_n(grid + ((y + dy) * side + x + dx) * stride, layer.components, out);
}

void grid_patches(const float* grid, std::int64_t side, std::int64_t stride, const PatchSizes::Second& layer, float* out) {
  const std::int64_t places = side - layer.patch + 1;
  for (std::int64_t y = 0; y < places; ++y)
    for (std::int64_t x = 0; x < places; ++x, out += layer.values()) grid_patch(grid, side, stride, layer, y, x, out);
}

void set_length(float* rows, std::int64_t count, std::int64_t width) {
  for (std::int64_t i = 0; i < count; ++i, rows += width)
    times(static_cast<float>(std::sqrt(static_cast<double>(width)) / (std::sqrt(squared_norm(rows, width)) + 1e-3)), rows, width);
}

void set_unit_norm(float* rows, std::int64_t count, std::int64_t width, double divisor) {
  for (std::int64_t i = 0; i < count; ++i, rows += width)
    times(static_cast<float>(1 / (std::sqrt(squared_norm(rows, width)) + 1e-6) / divisor), rows, width);
}

void split_signs(const float* products, std::int64_t count, std::int64_t atoms, float* out) {
  for (std::int64_t i = 0; i < count; ++i, products += atoms, out += 2 * atoms) both_signs(products, atoms, out, out + atoms);
}

void take_roots(float* values, std::int64_t count) { roots(values, count); }

at::Tensor pooling_weights(std::int64_t from, std::int64_t to, double sigma_in_cells) {
  at::Tensor weights = at::empty({to, from}, at::kFloat);
  const double cell = static_cast<double>(from) / static_cast<double>(to), sigma = sigma_in_cells * cell;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + .5) * cell - .5;
    std::vector<double> line;
    double sum = 0;
    for (std::int64_t j = 0; j < from; ++j) {
      const double away = (static_cast<double>(j) - centre) / sigma;
      sum += line.emplace_back(std::exp(-away * away / 2));
    }
    for (std::int64_t j = 0; j < from; ++j)
      weights.data_ptr<float>()[i * from + j] = static_cast<float>(line[static_cast<std::size_t>(j)] / sum);
  }
  return weights;
}

void pool(const at::Tensor& weights, const at::Tensor& grid, at::Tensor& between, at::Tensor out) {
  const std::int64_t to = weights.size(0), from = weights.size(1), channels = grid.size(1);
  at::Tensor lines = between.view({to, from * channels});
  at::mm_out(lines, weights, grid.view({from, from * channels}));
  for (std::int64_t y = 0; y < to; ++y) {
    at::Tensor cells = out.narrow(0, y * to, to);
    at::mm_out(cells, weights, lines[y].view({from, channels}));
  }
}

std::vector<std::int64_t> channel_mirror(std::int64_t half_atoms) {
  std::vector<std::int64_t> mirror;
  for (std::int64_t i = 0; i < 4 * half_atoms; ++i) mirror.push_back(i / half_atoms % 2 == 0 ? i + half_atoms : i - half_atoms);
  return mirror;
}

void fold(const float* grid, std::int64_t half_atoms, float* out) {
  const std::int64_t channels = 4 * half_atoms;
  for (std::int64_t y = 0; y < kCells; ++y)
    for (std::int64_t x = 0; x < kCells / 2; ++x) {
      const float *here = grid + (y * kCells + x) * channels, *there = grid + (y * kCells + kCells - 1 - x) * channels;
      for (std::int64_t part = 0; part < 4; ++part, out += half_atoms)
        add(here + part * half_atoms, there + (part ^ 1) * half_atoms, out, half_atoms);
    }
}

}  // namespace fodp
