#include "fodp/features/patch_features.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include "fodp/base/check.h"
#include "fodp/features/patch_operations.h"

namespace fodp {
namespace {

constexpr std::int64_t kCells = PatchSizes::kCells, kKept = kCells * kCells / 2;
constexpr std::int64_t kMostWorkers = 64;
// Rows that an image has in a product of a whole group. The matrix products of a BLAS take rows in tiles of up to 12 and round differently
// in tiles of other sizes, so that each image begins a tile of its own.
constexpr std::int64_t kTile = 12;
static_assert(kTile >= kKept);
constexpr double kFirstSigma = .4, kBlockSigma = .5;  // of pooling, in cells

at::Tensor space(std::initializer_list<std::int64_t> shape) { return at::empty(shape, at::kFloat); }

}  // namespace

PatchEncoder::PatchEncoder(const PatchDictionary& dictionary) : dictionary_(dictionary) {
  const PatchSizes& sizes = dictionary.sizes;
  const std::int64_t places = sizes.positions(), grid = sizes.grid, channels = sizes.channels();
  weights_ = pooling_weights(places, grid, kFirstSigma);
  patches_ = space({places * places, sizes.patch_values()});
  whitened_ = space({places * places, sizes.patch_values()});
  products_ = space({places * places, channels / 2});
  split_ = space({places * places, channels});
  between_ = space({grid * places, channels});
  first_ = space({kGroup * grid * grid, channels});
  roots_ = space({grid * grid, channels});
  projected_ = space({kGroup * grid * grid, sizes.components});
  const auto add_layer = [&](std::int64_t side, std::int64_t width, std::int64_t values) {
    Layer layer{.weights = pooling_weights(side, kCells, kBlockSigma),
                .between = space({kCells * side, width}),
                .cells = space({kCells * kCells, width}),
                .folded = space({kGroup * kKept, width}),
                .tiled = at::zeros({kGroup, kTile, width}, at::kFloat),
                .whitened = space({kGroup * kTile, width})};
    if (values > 0) {
      layer.patches = space({kGroup * side * side, values});
      layer.products = space({kGroup * side * side, width / 2});
      layer.split = space({side * side, width});
    }
    layers_.push_back(std::move(layer));
  };
  if (sizes.first_block) add_layer(grid, channels, 0);
  for (const PatchSizes::Second& second : sizes.second) add_layer(sizes.second_positions(second), second.channels(), second.values());
}

const at::Tensor& PatchEncoder::first_layer(std::span<const std::uint8_t> pixels) {
  const PatchSizes& sizes = dictionary_.sizes;
  const auto bytes = static_cast<std::size_t>(sizes.image.bytes());
  check_input(pixels.size() % bytes == 0 && pixels.size() <= bytes * kGroup, "{} bytes are not at most {} images of {} bytes",
              pixels.size(), kGroup, bytes);
  full_.assign(bytes * kGroup, 0);
  std::ranges::copy(pixels, full_.begin());
  const std::int64_t places = sizes.positions() * sizes.positions(), cells = sizes.grid * sizes.grid;
  for (std::int64_t image = 0; image < kGroup; ++image) {
    normalised_patches(sizes, full_.data() + static_cast<std::size_t>(image) * bytes, patches_.data_ptr<float>());
    at::mm_out(whitened_, patches_, dictionary_.whitening);
    set_length(whitened_.data_ptr<float>(), places, sizes.patch_values());
    at::mm_out(products_, whitened_, dictionary_.atoms);
    split_signs(products_.data_ptr<float>(), places, sizes.channels() / 2, split_.data_ptr<float>());
    pool(weights_, split_, between_, first_.narrow(0, image * cells, cells));
  }
  return first_;
}

const at::Tensor& PatchEncoder::first_roots(const at::Tensor& first, std::int64_t image) {
  const std::int64_t cells = roots_.size(0);
  roots_.copy_(first.narrow(0, image * cells, cells));
  take_roots(roots_.data_ptr<float>(), roots_.numel());
  return roots_;
}

const at::Tensor& PatchEncoder::project(const at::Tensor& first) {
  const std::int64_t cells = dictionary_.sizes.grid * dictionary_.sizes.grid;
  for (std::int64_t image = 0; image < kGroup; ++image) {
    at::Tensor own = projected_.narrow(0, image * cells, cells);
    at::addmm_out(own, dictionary_.offset, first_roots(first, image), dictionary_.components, 1, 1);
  }
  return projected_;
}

// `grid` has the places of one image after the other.
const at::Tensor& PatchEncoder::folded_cells(Layer& layer, const at::Tensor& grid, std::int64_t half_atoms) {
  const std::int64_t channels = 4 * half_atoms, places = grid.size(0) / kGroup;
  const bool split = layer.split.defined();
  for (std::int64_t image = 0; image < kGroup; ++image) {
    const at::Tensor own = grid.narrow(0, image * places, places);
    if (split) split_signs(own.data_ptr<float>(), places, channels / 2, layer.split.data_ptr<float>());
    pool(layer.weights, split ? layer.split : own, layer.between, layer.cells);
    if (!split) take_roots(layer.cells.data_ptr<float>(), layer.cells.numel());
    fold(layer.cells.data_ptr<float>(), half_atoms, layer.folded.data_ptr<float>() + image * kKept * channels);
  }
  return layer.folded;
}

const at::Tensor& PatchEncoder::first_block(const at::Tensor& first) {
  return folded_cells(layers_.front(), first, dictionary_.sizes.half_atoms);
}

const at::Tensor& PatchEncoder::second_block(std::size_t block, const at::Tensor& projected) {
  const PatchSizes& sizes = dictionary_.sizes;
  const PatchSizes::Second& second = sizes.second[block - (sizes.first_block ? 1 : 0)];
  Layer& layer = layers_[block];
  const std::int64_t cells = sizes.grid * sizes.grid, places = layer.patches.size(0) / kGroup;
  for (std::int64_t image = 0; image < kGroup; ++image) {
    at::Tensor patches = layer.patches.narrow(0, image * places, places), products = layer.products.narrow(0, image * places, places);
    grid_patches(projected.data_ptr<float>() + image * cells * sizes.components, sizes.grid, sizes.components, second,
                 patches.data_ptr<float>());
    set_length(patches.data_ptr<float>(), places, second.values());
    at::mm_out(products, patches, dictionary_.blocks[block].atoms);
  }
  return folded_cells(layer, layer.products, second.half_atoms);
}

void PatchEncoder::encode(std::span<const std::uint8_t> pixels, float* out) {
  const PatchSizes& sizes = dictionary_.sizes;
  const auto images = static_cast<std::int64_t>(pixels.size()) / sizes.image.bytes();
  const at::Tensor& first = first_layer(pixels);
  const at::Tensor& projected = project(first);
  std::int64_t offset = 0;
  for (std::size_t block = 0; block < layers_.size(); ++block) {
    at::Tensor& whitened = layers_[block].whitened;
    at::Tensor folded = sizes.first_block && block == 0 ? first_block(first) : second_block(block, projected);
    folded.sub_(dictionary_.blocks[block].mean);
    at::Tensor& tiled = layers_[block].tiled;
    tiled.narrow(1, 0, kKept).copy_(folded.view({kGroup, kKept, -1}));
    at::mm_out(whitened, tiled.view({kGroup * kTile, -1}), dictionary_.blocks[block].whitening);
    const std::int64_t width = kKept * whitened.size(1);
    for (std::int64_t image = 0; image < images; ++image) {
      float* values = whitened.data_ptr<float>() + image * kTile * whitened.size(1);
      set_unit_norm(values, 1, width, std::sqrt(static_cast<double>(layers_.size())));
      std::copy_n(values, width, out + image * sizes.values() + offset);
    }
    offset += width;
  }
}

void encode_images(const PatchDictionary& dictionary, std::span<const std::uint8_t> pixels, const ParallelFor& parallel,
                   const TakeFeatures& take, const WorkDone& done) {
  const std::int64_t bytes = dictionary.sizes.image.bytes(), all = static_cast<std::int64_t>(pixels.size()) / bytes;
  check_input(static_cast<std::int64_t>(pixels.size()) == all * bytes, "{} bytes are no whole number of images of {} bytes", pixels.size(),
              bytes);
  const std::int64_t groups = (all + PatchEncoder::kGroup - 1) / PatchEncoder::kGroup;
  std::atomic<std::int64_t> next = 0;
  std::int64_t finished = 0;
  std::mutex mutex;
  // Each range is a worker, which takes groups until there are none.
  parallel(std::min<std::int64_t>(groups, kMostWorkers), [&](std::int64_t, std::int64_t) {
    PatchEncoder encoder(dictionary);
    std::vector<float> features(static_cast<std::size_t>(PatchEncoder::kGroup * dictionary.sizes.values()));
    for (std::int64_t group = next++; group < groups; group = next++) {
      const std::int64_t first = group * PatchEncoder::kGroup, count = std::min(PatchEncoder::kGroup, all - first);
      encoder.encode(pixels.subspan(static_cast<std::size_t>(first * bytes), static_cast<std::size_t>(count * bytes)), features.data());
      take(first, count, features.data());
      const std::lock_guard lock(mutex);
      finished += count;
      if (done) done(finished, all);
    }
  });
}

std::vector<double> patch_probe(const PatchDictionary& dictionary) {
  constexpr std::uint64_t kUnseen = 1u << 30;
  std::vector<float> features(static_cast<std::size_t>(dictionary.sizes.values()));
  PatchEncoder(dictionary).encode(SyntheticImages(dictionary.sizes.image).image(kUnseen), features.data());
  std::vector<double> probe;
  const std::size_t each = features.size() / 8;
  for (std::size_t i = 0; i < 8; ++i) probe.push_back(features[i * each]);
  return probe;
}

}  // namespace fodp
