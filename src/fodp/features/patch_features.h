// Features of images from a two-layer dictionary of patches (Coates and Ng 2011, "The importance of encoding versus training"), learnt from
// computer-drawn images alone. docs/features.md has the recipe with its pictures.
//
//   image --6x6 patches, whitened, against atoms, both signs, pooled--> first layer [9 x 9 cells, channels]
//   first layer --square roots, leading components--> [9 x 9, components]
//               --2x2 and 3x3 patches against atoms, both signs, pooled--> second layers [4 x 4 cells, channels]
//   first layer --pooled again, square roots--> [4 x 4 cells, channels]
//   each of these and of the second layers --plus its mirror image, whitened, norm 1--> a block of features; all blocks have norm 1
//
// Square roots make the strongest answers of the first layer count less beside the others.
//
// An image's features are a function of that image and of public constants. Images go through it in groups of a fixed size: products have
// the same shapes for every group, a row of a product depends on that row alone, and a group that is not full is filled up with black. So
// the bits of an image's features do not depend on the images beside it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/features/feature_work.h"
#include "fodp/features/patch_sizes.h"

namespace fodp {

// All that is learnt from drawn images. float32.
struct PatchDictionary {
  struct Block {
    at::Tensor atoms;      // [values of a patch, atoms]; undefined for the block of the first layer
    at::Tensor mean;       // [channels]
    at::Tensor whitening;  // [channels, channels]
  };

  PatchSizes sizes;
  at::Tensor whitening;           // of first patches, [patch, patch]
  at::Tensor atoms;               // of the first layer, [patch, atoms]
  at::Tensor components, offset;  // [channels, components] and, to take away, [components]
  std::vector<float> signs;       // of the components under mirroring
  std::vector<Block> blocks;      // the first layer's, if it has one, and those of the second layers
};

// Draws images and learns from them. The same on every machine up to rounding, and whatever the number of threads.
PatchDictionary fit_patches(const PatchSizes& sizes, const ParallelFor& parallel, const WorkDone& done = {});

// Computes groups of images on one thread, in memory that it keeps.
class PatchEncoder {
 public:
  static constexpr std::int64_t kGroup = 16;

  explicit PatchEncoder(const PatchDictionary& dictionary);  // keeps a reference

  // The features of at most kGroup images, [images, values]. InputError for another number of bytes.
  void encode(std::span<const std::uint8_t> pixels, float* out);

  // The steps, for a group; results stay until the next call of the same step.
  const at::Tensor& first_layer(std::span<const std::uint8_t> pixels);  // [images x grid^2, channels]
  const at::Tensor& project(const at::Tensor& first);                   // [images x grid^2, components]
  // Blocks before whitening, [images x 8, channels].
  const at::Tensor& first_block(const at::Tensor& first);
  const at::Tensor& second_block(std::size_t block, const at::Tensor& projected);

 private:
  struct Layer {  // of a second layer, or of the block that the first one is
    at::Tensor weights, patches, products, split, between, cells, folded, tiled, whitened;
  };
  const at::Tensor& first_roots(const at::Tensor& first, std::int64_t image);  // of one image, [grid^2, channels]
  const at::Tensor& folded_cells(Layer& layer, const at::Tensor& grid, std::int64_t half_atoms);

  const PatchDictionary& dictionary_;
  at::Tensor weights_, patches_, whitened_, products_, split_, between_, first_, roots_, projected_;
  std::vector<Layer> layers_;
  std::vector<std::uint8_t> full_;
};

// The features of all images, [images, values], handed out group by group.
void encode_images(const PatchDictionary& dictionary, std::span<const std::uint8_t> pixels, const ParallelFor& parallel,
                   const TakeFeatures& take, const WorkDone& done = {});

// The first features of an image that no dictionary saw: whoever computes others has another dictionary.
std::vector<double> patch_probe(const PatchDictionary& dictionary);

}  // namespace fodp
