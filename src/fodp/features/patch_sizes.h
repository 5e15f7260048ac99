// The sizes of the patch features (patch_features.h) of one kind of image. Public constants: the number of features of an image is known
// before any image is read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fodp/data/feature_size.h"
#include "fodp/features/synthetic_images.h"

namespace fodp {

// The name and number of the recipe. Whatever changes a feature changes the number: features of another one are computed anew, and a model
// is used with those of its own only.
inline constexpr std::string_view kPatchRecipe = "patches";
inline constexpr std::int64_t kPatchVersion = 2;

struct PatchSizes {
  // A dictionary of patches of the first layer's output.
  struct Second {
    std::int64_t patch = 2, components = 96, half_atoms = 512;

    std::int64_t values() const { return patch * patch * components; }  // of a patch
    std::int64_t channels() const { return 4 * half_atoms; }            // atoms, their mirror images, both signs
  };
  // What is drawn to learn from: images for the first dictionary, those for all that comes after it, how many of the latter give atoms, and
  // patches for the first whitening.
  struct Drawn {
    std::int64_t first_images = 4000, second_images = 2000, atom_images = 1500, patches = 100000;
  };

  static constexpr std::int64_t kPatch = 6, kCells = 4;  // side of a first patch; of the grid of the output

  ImageShape image;
  std::int64_t stride = 1, grid = 9;  // of the first layer: pixels between patches, side of the grid it is pooled to
  std::int64_t half_atoms = 256, components = 96;
  bool first_block = true;  // the first layer's output is a block of features, too
  std::vector<Second> second;
  Drawn drawn;

  std::int64_t patch_values() const { return image.channels * kPatch * kPatch; }
  std::int64_t positions() const { return (image.side - kPatch) / stride + 1; }  // of patches, along a side
  std::int64_t channels() const { return 4 * half_atoms; }                       // of the first layer
  std::int64_t second_positions(const Second& layer) const { return grid - layer.patch + 1; }
  std::int64_t blocks() const { return static_cast<std::int64_t>(second.size()) + (first_block ? 1 : 0); }

  // Features of an image: each block has its channels in 4 x 2 cells, the left half of a grid that was folded onto itself.
  std::int64_t values() const;
};

PatchSizes patch_sizes(const ImageShape& image, FeatureSize size);

}  // namespace fodp
