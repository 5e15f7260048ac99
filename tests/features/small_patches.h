// A dictionary of patch features that takes no time: few drawn images, few atoms.
#pragma once

#include "fodp/features/patch_features.h"

namespace fodp::testing {

inline PatchSizes small_sizes(const ImageShape& shape) {
  PatchSizes sizes = patch_sizes(shape, FeatureSize::standard);
  sizes.half_atoms = 8;
  sizes.components = 12;
  sizes.second = {{2, 12, 8}, {3, 8, 4}};
  sizes.drawn = {.first_images = 40, .second_images = 32, .atom_images = 24, .patches = 3000};
  return sizes;
}

inline const PatchDictionary& small_dictionary() {
  static const PatchDictionary dictionary = fit_patches(small_sizes({3, 32}), one_by_one);
  return dictionary;
}

// Images that are not drawn: noise over ramps.
inline std::vector<std::uint8_t> made_up_images(const ImageShape& shape, std::int64_t count) {
  PublicRandom random(99, 1);
  std::vector<std::uint8_t> pixels;
  for (std::int64_t i = 0; i < count * shape.bytes(); ++i)
    pixels.push_back(static_cast<std::uint8_t>(i * 7 / 32 % 150 + random.below(100)));
  return pixels;
}

inline std::vector<float> features_of(const PatchDictionary& dictionary, const std::vector<std::uint8_t>& pixels) {
  const std::int64_t values = dictionary.sizes.values();
  std::vector<float> all(pixels.size() / static_cast<std::size_t>(dictionary.sizes.image.bytes()) * static_cast<std::size_t>(values));
  encode_images(dictionary, pixels, one_by_one, [&](std::int64_t first, std::int64_t count, const float* features) {
    std::copy_n(features, count * values, all.begin() + first * values);
  });
  return all;
}

}  // namespace fodp::testing
