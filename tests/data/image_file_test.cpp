// PNG and JPEG files, sound and hostile.
#include "fodp/data/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/pictures.h"
#include "python.h"

namespace fodp {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using testing::input_error;
using testing::jpeg_of;
using testing::operator+;
using testing::png_of;
using testing::random_picture;

std::string refusal(const Bytes& bytes, std::int64_t channels = 3) {
  return input_error([&] { read_picture(bytes, channels, "cat.png"); });
}

TEST(ImageFile, PngComesBackBitForBit) {
  for (const std::int64_t channels : {1, 3}) {
    const Picture picture = random_picture(13, 7, channels, 3);
    const Picture read = read_picture(png_of(picture), channels, "cat.png");
    EXPECT_EQ(read.width, 13);
    EXPECT_EQ(read.height, 7);
    EXPECT_EQ(read.values, picture.values);
  }
}

TEST(ImageFile, ChannelsAreAsAskedFor) {
  const Picture color = random_picture(5, 4, 3, 1), gray = random_picture(5, 4, 1, 2);
  EXPECT_EQ(read_picture(png_of(color), 1, "cat.png").values, to_gray(color).values);
  EXPECT_EQ(read_picture(png_of(gray), 3, "cat.png").values, to_color(gray).values);
  EXPECT_EQ(read_picture(jpeg_of(gray), 3, "cat.jpg").channels, 3);
  EXPECT_EQ(read_picture(jpeg_of(color), 1, "cat.jpg").channels, 1);
}

TEST(ImageFile, JpegIsNearWhatWasWritten) {
  Picture smooth{32, 24, 3, {}};
  for (int y = 0; y < 24; ++y)
    for (int x = 0; x < 32; ++x)
      for (const int value : {8 * x, 10 * y, 128}) smooth.values.push_back(static_cast<std::uint8_t>(value));
  for (const bool progressive : {false, true}) {
    const Picture read = read_picture(jpeg_of(smooth, progressive), 3, "cat.jpg");
    ASSERT_EQ(read.values.size(), smooth.values.size());
    for (std::size_t i = 0; i < read.values.size(); ++i) EXPECT_NEAR(read.values[i], smooth.values[i], 12);
  }
}

// Palettes, few and many bits, transparency, interlacing: what Pillow's convert("RGB") gives of them.
TEST(ImageFile, GivesTheBitsOfPillow) {
  const std::string python = testing::python_with("PIL");
  if (python.empty()) GTEST_SKIP() << "no Python with Pillow";
  const testing::TemporaryFolder folder;
  testing::write_bytes(folder / "noise", testing::pattern(40 * 30 * 4, 5));
  testing::write_bytes(folder / "make.py", [] {
    const std::string code = R"(
import sys
from PIL import Image
noise = Image.frombytes("RGBA", (40, 30), open("noise", "rb").read())
kinds = {"palette.png": noise.convert("P"), "bits.png": noise.convert("1"), "alpha.png": noise, "gray_alpha.png": noise.convert("LA"),
         "color.png": noise.convert("RGB"), "color.jpg": noise.convert("RGB"), "gray.jpg": noise.convert("L")}
for name, image in kinds.items():
    image.save(name)
    open(name + ".rgb", "wb").write(Image.open(name).convert("RGB").tobytes())
noise.convert("RGB").save("progressive.jpg", progressive=True, subsampling=2)
open("progressive.jpg.rgb", "wb").write(Image.open("progressive.jpg").convert("RGB").tobytes())
noise.convert("P").save("clear.png", transparency=3)
open("clear.png.rgb", "wb").write(Image.open("clear.png").convert("RGB").tobytes())
)";
    return Bytes(code.begin(), code.end());
  }());
  ASSERT_EQ(std::system(("cd '" + folder.path().string() + "' && " + python + " -W ignore make.py").c_str()), 0);
  for (const char* name :
       {"palette.png", "bits.png", "alpha.png", "gray_alpha.png", "color.png", "color.jpg", "gray.jpg", "progressive.jpg", "clear.png"})
    EXPECT_EQ(read_picture(testing::read_bytes(folder / name), 3, name).values, testing::read_bytes(folder / (std::string(name) + ".rgb")))
        << name;
}

// Parts of a PNG file by hand: what no writer of ours makes.
Bytes chunk(const std::string& kind, const Bytes& content) {
  const Bytes body = Bytes(kind.begin(), kind.end()) + content;
  return testing::big_endian(static_cast<std::uint32_t>(content.size())) + body +
         testing::big_endian(static_cast<std::uint32_t>(crc32(0, body.data(), static_cast<uInt>(body.size()))));
}

Bytes png_by_hand(std::uint32_t width, std::uint32_t height, std::uint8_t bits, std::uint8_t color, const Bytes& lines,
                  bool interlaced = false) {
  uLongf size = compressBound(static_cast<uLong>(lines.size()));
  Bytes packed(size);
  compress(packed.data(), &size, lines.data(), static_cast<uLong>(lines.size()));
  packed.resize(size);
  const Bytes start = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return start + chunk("IHDR", testing::big_endian(width) + testing::big_endian(height) + Bytes{bits, color, 0, 0, interlaced}) +
         chunk("IDAT", packed) + chunk("IEND", {});
}

TEST(ImageFile, SixteenBitsKeepTheirUpperEight) {
  const Bytes png = png_by_hand(2, 1, 16, 0, {0, 0x12, 0xff, 0xfe, 0x01});
  EXPECT_EQ(read_picture(png, 1, "cat.png").values, (Bytes{0x12, 0xfe}));
}

TEST(ImageFile, InterlacedFilesAreRead) {
  // 2 x 2: pass 1 has pixel (0, 0), pass 6 pixel (1, 0), pass 7 the second row.
  const Bytes png = png_by_hand(2, 2, 8, 0, {0, 10, 0, 20, 0, 30, 40}, true);
  EXPECT_EQ(read_picture(png, 1, "cat.png").values, (Bytes{10, 20, 30, 40}));
}

TEST(ImageFile, BombsAreRefusedBeforeMemoryIsTaken) {
  const Bytes line = {0, 1, 2, 3};
  EXPECT_THAT(refusal(png_by_hand(100000, 100000, 8, 2, line)), HasSubstr("100000 x 100000 pixels: at most"));
  EXPECT_THAT(refusal(png_by_hand(8000, 8000, 8, 2, line)), HasSubstr("more than its"));
  const auto jpeg_of_size = [](std::uint8_t high, std::uint8_t low) {
    Bytes jpeg = jpeg_of(random_picture(16, 16, 3, 1));
    for (std::size_t i = 0; i + 8 < jpeg.size(); ++i)
      if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) jpeg[i + 5] = jpeg[i + 7] = high, jpeg[i + 6] = jpeg[i + 8] = low;
    return jpeg;
  };
  EXPECT_THAT(refusal(jpeg_of_size(0xfa, 0xfa)), HasSubstr("64250 x 64250 pixels: at most"));
  EXPECT_THAT(refusal(jpeg_of_size(0x1f, 0x40)), HasSubstr("8000 x 8000 pixels, more than its"));
}

TEST(ImageFile, WhatIsNoImageIsRefused) {
  EXPECT_THAT(refusal({}), HasSubstr("cat.png: neither a PNG nor a JPEG file"));
  EXPECT_THAT(refusal({'G', 'I', 'F', '8', '9', 'a'}), HasSubstr("neither a PNG nor a JPEG file"));
  EXPECT_THAT(refusal(jpeg_of(random_picture(8, 8, 4, 1))), HasSubstr("CMYK"));
  Bytes cut = png_of(random_picture(20, 20, 3, 1));
  cut.resize(cut.size() / 2);
  EXPECT_THAT(refusal(cut), HasSubstr("cat.png: the PNG file is damaged: the file ends early"));
  cut = jpeg_of(random_picture(20, 20, 3, 1));
  cut.resize(cut.size() / 2);
  EXPECT_THAT(refusal(cut), HasSubstr("cat.png: the JPEG file is damaged: Premature end"));
}

TEST(ImageFile, DamageEndsInAPictureOrARefusal) {
  const testing::TemporaryFolder folder;
  const auto file = folder / "cat";
  for (const Bytes& whole :
       {png_of(random_picture(30, 20, 3, 1)), jpeg_of(random_picture(30, 20, 3, 1)), jpeg_of(random_picture(30, 20, 3, 1), true)}) {
    testing::write_bytes(file, whole);
    EXPECT_GT(testing::refused_when_damaged(file, [&] { read_picture(testing::read_bytes(file), 3, file.string()); }), 200);
  }
}

}  // namespace
}  // namespace fodp
