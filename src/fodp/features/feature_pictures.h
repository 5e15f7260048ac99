// Pictures of what patch features are learnt from and of what is learnt, for people to look at. Nothing in them comes from data.
#pragma once

#include <cstdint>

#include "fodp/data/resize.h"
#include "fodp/features/patch_features.h"

namespace fodp {

// Some of the drawn images, `side` x `side` of them.
Picture drawn_images(const ImageShape& shape, std::int64_t side);
// The atoms of the first layer as filters of pixels, each scaled to its own largest value; mirror images are left out.
Picture first_atoms(const PatchDictionary& dictionary);

Picture zoomed(const Picture& picture, std::int64_t times);  // each pixel as a square of so many pixels a side

}  // namespace fodp
