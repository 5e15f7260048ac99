// How many features stand for an image (features/patch_sizes.h): more are more accurate, and take more time and disk.
#pragma once

#include <string_view>
#include <utility>

#include "fodp/base/fields.h"

namespace fodp {

enum class FeatureSize { small, standard, large };

template <>
struct EnumNames<FeatureSize> {
  static constexpr std::pair<std::string_view, FeatureSize> values[] = {
      {"small", FeatureSize::small}, {"standard", FeatureSize::standard}, {"large", FeatureSize::large}};
};

}  // namespace fodp
