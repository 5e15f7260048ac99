// Pictures of 8 bits a value, and their size.
#pragma once

#include <cstdint>
#include <vector>

namespace fodp {

// Rows of pixels from the top, the values of a pixel side by side: one for gray, or red, green and blue.
struct Picture {
  std::int64_t width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> values = {};
};

// The picture in another size, whatever its proportions were. Where it becomes smaller, each pixel is a weighted mean of all that it
// covers (a triangle as wide as two new pixels); where it becomes larger, the interpolation is bilinear. First the rows are made as long
// as asked for and rounded to 8 bits, then the columns. The arithmetic is whole-numbered, with weights of 22 bits, and gives the same bits
// as Pillow's Image.resize((width, height), Image.BILINEAR) for pictures of the modes L and RGB.
Picture resized(const Picture& from, std::int64_t width, std::int64_t height);

// Gray of a picture in colour, as Pillow's convert("L") computes it (ITU-R 601-2): (19595 R + 38470 G + 7471 B + 32768) / 65536, rounded
// down. And a picture in gray with each value three times.
Picture to_gray(const Picture& from);
Picture to_color(const Picture& from);

}  // namespace fodp
