#include "fodp/data/resize.h"

#include <cmath>

#include <gtest/gtest.h>

#include "data/pictures.h"
#include "python.h"

namespace fodp {
namespace {

using testing::Bytes;
using testing::random_picture;

TEST(Resize, ASmallCaseByHand) {
  const Picture row{4, 1, 1, {0, 100, 200, 40}};
  // Two pixels become one: the triangle reaches over four, of which one lies outside; the weights of the others are 3/7, 3/7 and 1/7.
  EXPECT_EQ(resized(row, 2, 1).values, (Bytes{71, 117}));  // (0*3 + 100*3 + 200)/7 = 71.4, (100 + 200*3 + 40*3)/7 = 117.1
}

TEST(Resize, OnePixelIsTheWeightedMeanOfAll) {
  const Picture flat{9, 7, 3, Bytes(9 * 7 * 3, 77)};
  for (const std::int64_t size : {1, 2, 5, 20}) {
    const Picture other = resized(flat, size, size);
    EXPECT_EQ(other.values, Bytes(static_cast<std::size_t>(3 * size * size), 77)) << "a picture of one colour stays so";
  }
}

TEST(Resize, TheSameSizeIsTheSamePicture) {
  const Picture picture = random_picture(11, 5, 3, 1);
  EXPECT_EQ(resized(picture, 11, 5).values, picture.values);
}

// A triangle filter in double, in one pass over both dimensions. Rounding in between moves a value by at most one.
TEST(Resize, AgreesWithTheDefinition) {
  const auto weight = [](std::int64_t from, std::int64_t to, std::int64_t i, std::int64_t x) {
    const double scale = static_cast<double>(from) / static_cast<double>(to), wide = std::max(1.0, scale);
    return std::max(0.0, 1 - std::abs(static_cast<double>(x) + .5 - (static_cast<double>(i) + .5) * scale) / wide);
  };
  for (const auto& [width, height, size] : {std::tuple{40, 23, 8}, {7, 5, 16}, {64, 64, 63}, {3, 50, 10}}) {
    const Picture from = random_picture(width, height, 1, static_cast<unsigned>(width));
    const Picture to = resized(from, size, size);
    for (std::int64_t y = 0; y < size; ++y)
      for (std::int64_t x = 0; x < size; ++x) {
        double sum = 0, all = 0;
        for (std::int64_t v = 0; v < height; ++v)
          for (std::int64_t u = 0; u < width; ++u) {
            const double one = weight(width, size, x, u) * weight(height, size, y, v);
            sum += one * from.values[static_cast<std::size_t>(v * width + u)];
            all += one;
          }
        EXPECT_NEAR(to.values[static_cast<std::size_t>(y * size + x)], sum / all, 1.01) << width << " " << height << " " << size;
      }
  }
}

TEST(Resize, GrayAndColourAreAsDocumented) {
  const Picture color{2, 1, 3, {255, 0, 0, 10, 200, 30}};
  EXPECT_EQ(to_gray(color).values, (Bytes{76, 124}));  // (19595*255 + 32768)/65536 = 76.7; 3.0 + 117.4 + 3.4 + .5 = 124.3
  EXPECT_EQ(to_color(Picture{2, 1, 1, {7, 9}}).values, (Bytes{7, 7, 7, 9, 9, 9}));
}

// What docs/images-and-tensors.md tells people who prepare images in Python.
TEST(Resize, GivesTheBitsOfPillow) {
  const std::string python = testing::python_with("PIL");
  if (python.empty()) GTEST_SKIP() << "no Python with Pillow";
  const testing::TemporaryFolder folder;
  for (const auto& [width, height, channels, size] :
       {std::tuple{40, 23, 3, 8}, {7, 5, 3, 16}, {640, 480, 3, 224}, {100, 100, 1, 28}, {33, 64, 1, 64}, {5, 3, 3, 1}, {97, 31, 3, 96}}) {
    const Picture from = random_picture(width, height, channels, static_cast<unsigned>(size));
    testing::write_bytes(folder / "from", from.values);
    const std::string mode = channels == 3 ? "RGB" : "L";
    const std::string code = fmt::format(
        "from PIL import Image; i = Image.frombytes(\"{}\", ({}, {}), open(\"{}\", \"rb\").read()); "
        "open(\"{}\", \"wb\").write(i.resize(({}, {}), Image.BILINEAR).tobytes() + i.convert(\"L\").tobytes())",
        mode, width, height, (folder / "from").string(), (folder / "to").string(), size, size);
    ASSERT_EQ(std::system((python + " -c '" + code + "'").c_str()), 0);
    const Bytes gray = channels == 3 ? to_gray(from).values : from.values;
    EXPECT_EQ(testing::operator+(resized(from, size, size).values, gray), testing::read_bytes(folder / "to")) << width << " " << size;
  }
}

}  // namespace
}  // namespace fodp
