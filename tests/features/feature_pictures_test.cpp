#include "fodp/features/feature_pictures.h"

#include <gtest/gtest.h>

#include "features/small_patches.h"

namespace fodp {
namespace {

TEST(FeaturePictures, HaveTheDrawnImagesSideBySide) {
  const ImageShape shape{3, 32};
  const Picture sheet = drawn_images(shape, 2);
  ASSERT_EQ(sheet.width, 65);
  ASSERT_EQ(sheet.height, 65);
  const std::vector<std::uint8_t> last = SyntheticImages(shape).image(3);
  for (std::int64_t y = 0; y < 32; ++y)
    for (std::int64_t x = 0; x < 32; ++x)
      for (std::int64_t c = 0; c < 3; ++c)
        ASSERT_EQ(sheet.values[static_cast<std::size_t>(((33 + y) * 65 + 33 + x) * 3 + c)],
                  last[static_cast<std::size_t>((c * 32 + y) * 32 + x)]);
  EXPECT_EQ(sheet.values[32 * 3], 255) << "the line between them";
}

TEST(FeaturePictures, HaveAnAtomOfFullContrastInEachTile) {
  const Picture sheet = first_atoms(testing::small_dictionary());  // 8 atoms in 3 columns
  ASSERT_EQ(sheet.width, 20);
  ASSERT_EQ(sheet.height, 20);
  for (std::int64_t tile = 0; tile < 8; ++tile) {
    int farthest = 0;
    for (std::int64_t y = 0; y < 6; ++y)
      for (std::int64_t x = 0; x < 6 * 3; ++x) {
        const int value = sheet.values[static_cast<std::size_t>(((tile / 3 * 7 + y) * 20 + tile % 3 * 7) * 3 + x)];
        farthest = std::max(farthest, std::abs(2 * value - 255));
      }
    EXPECT_EQ(farthest, 255) << tile;
  }
}

TEST(FeaturePictures, AreZoomedPixelByPixel) {
  const Picture large = zoomed({2, 1, 1, {7, 9}}, 2);
  EXPECT_EQ(large.width, 4);
  EXPECT_EQ(large.height, 2);
  EXPECT_EQ(large.values, (std::vector<std::uint8_t>{7, 7, 9, 9, 7, 7, 9, 9}));
}

}  // namespace
}  // namespace fodp
