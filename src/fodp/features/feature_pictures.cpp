#include "fodp/features/feature_pictures.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/mm.h>

namespace fodp {
namespace {

// Tiles in a grid on white, with a line of white between them.
class Sheet {
 public:
  Sheet(std::int64_t rows, std::int64_t columns, std::int64_t side, std::int64_t channels) : columns_(columns), side_(side) {
    picture_ = {columns * (side + 1) - 1, rows * (side + 1) - 1, channels, {}};
    picture_.values.assign(static_cast<std::size_t>(picture_.height * picture_.width * channels), 255);
  }

  // `value(channel, row, column)` of the tile with that number.
  template <class Value>
  void put(std::int64_t tile, const Value& value) {
    const std::int64_t top = tile / columns_ * (side_ + 1), left = tile % columns_ * (side_ + 1);
    for (std::int64_t y = 0; y < side_; ++y)
      for (std::int64_t x = 0; x < side_; ++x)
        for (std::int64_t c = 0; c < picture_.channels; ++c)
          picture_.values[static_cast<std::size_t>(((top + y) * picture_.width + left + x) * picture_.channels + c)] = value(c, y, x);
  }

  Picture picture() && { return std::move(picture_); }

 private:
  std::int64_t columns_, side_;
  Picture picture_;
};

}  // namespace

Picture drawn_images(const ImageShape& shape, std::int64_t side) {
  const SyntheticImages images(shape);
  Sheet sheet(side, side, shape.side, shape.channels);
  for (std::int64_t n = 0; n < side * side; ++n) {
    const std::vector<std::uint8_t> image = images.image(static_cast<std::uint64_t>(n));
    sheet.put(n, [&](std::int64_t c, std::int64_t y, std::int64_t x) {
      return image[static_cast<std::size_t>((c * shape.side + y) * shape.side + x)];
    });
  }
  return std::move(sheet).picture();
}

Picture first_atoms(const PatchDictionary& dictionary) {
  const PatchSizes& sizes = dictionary.sizes;
  constexpr std::int64_t kSide = PatchSizes::kPatch;
  const auto columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(sizes.half_atoms))));
  Sheet sheet((sizes.half_atoms + columns - 1) / columns, columns, kSide, sizes.image.channels);
  const at::Tensor filters = at::mm(dictionary.whitening, dictionary.atoms).t().contiguous();  // [atoms, values]
  for (std::int64_t n = 0; n < sizes.half_atoms; ++n) {
    const float* filter = filters.data_ptr<float>() + n * sizes.patch_values();
    const float largest = std::max(1e-12f, std::abs(*std::max_element(filter, filter + sizes.patch_values(),
                                                                      [](float a, float b) { return std::abs(a) < std::abs(b); })));
    sheet.put(n, [&](std::int64_t c, std::int64_t y, std::int64_t x) {
      return static_cast<std::uint8_t>(std::lround(127.5f + 127.5f * filter[(c * kSide + y) * kSide + x] / largest));
    });
  }
  return std::move(sheet).picture();
}

Picture zoomed(const Picture& picture, std::int64_t times) {
  Picture out{picture.width * times, picture.height * times, picture.channels, {}};
  out.values.reserve(static_cast<std::size_t>(out.width * out.height * out.channels));
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x) {
      const auto from = picture.values.begin() + (y / times * picture.width + x / times) * picture.channels;
      out.values.insert(out.values.end(), from, from + picture.channels);
    }
  return out;
}

}  // namespace fodp
