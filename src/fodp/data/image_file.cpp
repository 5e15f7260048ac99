#include "fodp/data/image_file.h"

#include <algorithm>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::uint8_t kPng[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, kJpeg[] = {0xff, 0xd8, 0xff};
constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 26;

bool begins_with(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> start) {
  return bytes.size() >= start.size() && std::ranges::equal(bytes.first(start.size()), start);
}

}  // namespace

void check_picture_size(std::uint64_t width, std::uint64_t height, const std::string& where) {
  check_input(width >= 1 && height >= 1 && width <= kMostPixels && height <= kMostPixels / width,
              "{}: the picture has {} x {} pixels: at most {} are read (8192 x 8192)", where, width, height, kMostPixels);
}

Picture read_picture(std::span<const std::uint8_t> bytes, std::int64_t channels, const std::string& where) {
  const bool png = begins_with(bytes, kPng);
  check_input(png || begins_with(bytes, kJpeg), "{}: neither a PNG nor a JPEG file, by its first bytes", where);
  Picture picture = png ? read_png(bytes, where) : read_jpeg(bytes, where);
  if (picture.channels == channels) return picture;
  return channels == 1 ? to_gray(picture) : to_color(picture);
}

}  // namespace fodp
