#include "fodp/features/encoded_rows.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include "features/small_patches.h"
#include "fodp/base/check.h"
#include "fodp/data/byte_rows.h"
#include "fodp/features/patch_dictionary.h"

namespace fodp {
namespace {

using testing::features_of;
using testing::made_up_images;
using testing::small_dictionary;

constexpr std::int64_t kImages = 21;

std::shared_ptr<const Rows> images_of(const std::vector<std::uint8_t>& pixels, const ImageShape& shape) {
  const std::vector<std::int64_t> row = {shape.channels, shape.side, shape.side};
  return std::make_shared<ByteRows>(row, normalisation_for(row, {}, {}, {{.5}, {.5}}), pixels, at::arange(kImages, at::kLong), kImages);
}

TEST(EncodedRows, AreTheFeaturesThatACacheWouldKeep) {
  const PatchDictionary& dictionary = small_dictionary();
  const std::vector<std::uint8_t> pixels = made_up_images(dictionary.sizes.image, kImages);
  const EncodedRows rows(images_of(pixels, dictionary.sizes.image), encoder_of(dictionary), dictionary.sizes.values(), one_by_one);
  std::vector<float> all = features_of(dictionary, pixels);
  const at::Tensor expected = at::from_blob(all.data(), {kImages, dictionary.sizes.values()}).to(at::kBFloat16);
  EXPECT_EQ(rows.count(), kImages);
  EXPECT_EQ(rows.inputs()[0].shape, std::vector<std::int64_t>{dictionary.sizes.values()});
  const std::vector<std::int64_t> some = {20, 3, 3, 0};
  const Batch batch = rows.gather(some);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_TRUE(static_cast<const at::Tensor&>(batch.inputs)[static_cast<std::int64_t>(i)].equal(expected[some[i]])) << i;
    EXPECT_EQ(batch.targets[static_cast<std::int64_t>(i)].item<std::int64_t>(), some[i]);
  }
}

TEST(EncodedRows, AreOfImagesOfTheDictionarysShapeOnly) {
  const PatchDictionary& dictionary = small_dictionary();
  const ImageShape& shape = dictionary.sizes.image;
  const std::vector<std::uint8_t> pixels = made_up_images(shape, kImages),
                                  gray(static_cast<std::size_t>(kImages * shape.side * shape.side));
  EXPECT_THROW(EncodedRows(images_of(gray, {1, shape.side}), encoder_of(dictionary), dictionary.sizes.values(), one_by_one), InputError);
  const EncodedRows rows(images_of(pixels, shape), encoder_of(dictionary), dictionary.sizes.values(), one_by_one);
  EXPECT_THROW(rows.gather(std::vector<std::int64_t>{kImages}), InputError);
}

}  // namespace
}  // namespace fodp
