#include "fodp/features/patch_sizes.h"

namespace fodp {

std::int64_t PatchSizes::values() const {
  std::int64_t all = first_block ? channels() : 0;
  for (const Second& layer : second) all += layer.channels();
  return all * kCells * kCells / 2;
}

PatchSizes patch_sizes(const ImageShape& image, FeatureSize size) {
  const bool colour = image.channels > 1;
  const std::int64_t usual = colour ? 512 : 256;
  const std::int64_t atoms = size == FeatureSize::small ? 128 : size == FeatureSize::standard ? usual : 2 * usual;
  PatchSizes sizes{.image = image,
                   .stride = image.side <= 48   ? 1
                             : image.side <= 80 ? 2
                                                : 3,
                   .grid = image.side < 32 ? 8 : 9,
                   .half_atoms = colour ? 256 : 128,
                   .components = colour ? 96 : 64,
                   .first_block = size != FeatureSize::small};
  sizes.second = {{2, sizes.components, atoms}, {3, colour ? 64 : 48, atoms}};
  return sizes;
}

}  // namespace fodp
