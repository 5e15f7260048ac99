#include "fodp/features/synthetic_images.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"

namespace fodp {
namespace {

TEST(PublicRandom, IsUniformAndNormal) {
  PublicRandom random(7, 3);
  double sum = 0, squares = 0, normals = 0, normal_squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(), z = random.normal();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u, squares += u * u, normals += z, normal_squares += z * z;
  }
  EXPECT_NEAR(sum / n, .5, .005);  // a fixed seed: five standard errors
  EXPECT_NEAR(squares / n, 1.0 / 3, .005);
  EXPECT_NEAR(normals / n, 0, .016);
  EXPECT_NEAR(normal_squares / n, 1, .023);
  EXPECT_EQ(PublicRandom(7, 3).word(), PublicRandom(7, 3).word());
  EXPECT_NE(PublicRandom(7, 3).word(), PublicRandom(7, 4).word());
  EXPECT_NE(PublicRandom(7, 3).word(), PublicRandom(8, 3).word());
}

// Features of one machine are those of another only if both draw the same images.
TEST(SyntheticImages, AreTheSameBytesEverywhere) {
  const auto hash = [](const ImageShape& shape) {
    const SyntheticImages images(shape);
    Sha256 digest;
    for (std::uint64_t n = 0; n < 4; ++n) digest.add(images.image(n));
    return digest.text().substr(0, 16);
  };
  EXPECT_EQ(hash({3, 32}), "fd9721e61cc6d925");
  EXPECT_EQ(hash({1, 28}), "26925d94f84ce9dd");
  EXPECT_EQ(hash({3, 48}), "1291eb8dc795e6a0");
}

TEST(SyntheticImages, OfTwentyEightPixelsAreTheMiddleOfThoseOfThirtyTwo) {
  const std::vector<std::uint8_t> small = SyntheticImages({3, 28}).image(5), full = SyntheticImages({3, 32}).image(5);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < 28; ++y)
      for (std::size_t x = 0; x < 28; ++x) ASSERT_EQ(small[c * 784 + y * 28 + x], full[c * 1024 + (y + 2) * 32 + x + 2]);
}

TEST(SyntheticImages, OfOneChannelAreTheMeanOfThree) {
  const std::vector<std::uint8_t> gray = SyntheticImages({1, 32}).image(5), colour = SyntheticImages({3, 32}).image(5);
  for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(gray[i], std::lround((colour[i] + colour[1024 + i] + colour[2048 + i]) / 3.0));
}

// Neighbours are alike, as in photographs, and images differ.
TEST(SyntheticImages, LookLikePictures) {
  const SyntheticImages images({1, 32});
  double variance = 0, difference = 0;
  for (std::uint64_t n = 0; n < 50; ++n) {
    const std::vector<std::uint8_t> image = images.image(n);
    const double mean = std::accumulate(image.begin(), image.end(), 0.0) / 1024;
    for (std::size_t i = 0; i < 1024; ++i) variance += (image[i] - mean) * (image[i] - mean) / 1024;
    for (std::size_t i = 0; i < 1023; ++i) difference += (image[i + 1] - image[i]) * (image[i + 1] - image[i]) / 1023.0;
  }
  EXPECT_GT(variance / 50, 500);
  EXPECT_LT(difference, .5 * variance);
  EXPECT_GT(difference, .02 * variance);
  EXPECT_NE(images.image(0), images.image(1));
}

TEST(SyntheticImages, OfOtherShapesAreRefused) {
  EXPECT_THROW(SyntheticImages({2, 32}), InputError);
  EXPECT_THROW(SyntheticImages({3, 27}), InputError);
  EXPECT_THROW(SyntheticImages({3, 97}), InputError);
}

}  // namespace
}  // namespace fodp
