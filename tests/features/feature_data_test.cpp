#include "fodp/features/feature_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

DataOptions patches_of(const std::string& data) {
  DataOptions options{.data = data};
  options.features = "patches";
  return options;
}

TEST(FeatureData, IsDescribedBeforeAnyFileIsRead) {
  const DataDescription about = describe_with_features(patches_of("cifar-10"));
  EXPECT_EQ(about.row_shape, std::vector<std::int64_t>{40960});
  EXPECT_TRUE(about.unit_norm);
  EXPECT_EQ(about.inputs["features"]["recipe"], "patches");
  EXPECT_EQ(about.inputs["features"]["version"], 2);
  EXPECT_EQ(about.inputs["features"]["size"], "standard");
  DataOptions small = patches_of("mnist");
  small.feature_size = FeatureSize::small;
  EXPECT_EQ(describe_with_features(small).row_shape, std::vector<std::int64_t>{8192});
}

TEST(FeatureData, WithoutFeaturesIsTheDataItself) {
  DataOptions options{.data = "cifar-10"};
  EXPECT_FALSE(has_features(options));
  EXPECT_EQ(describe_with_features(options).row_shape, (std::vector<std::int64_t>{3, 32, 32}));
  EXPECT_FALSE(describe_with_features(options).unit_norm);
}

std::string refusal(const DataOptions& options) {
  try {
    describe_with_features(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(FeatureData, RefusesWhatThereIsNot) {
  DataOptions options = patches_of("cifar-10");
  options.features = "patchs";
  EXPECT_THAT(refusal(options), ::testing::HasSubstr("did you mean 'patches'"));
  DataOptions table = patches_of("tensors");
  EXPECT_THAT(refusal(table), ::testing::HasSubstr("`train`"));
  DataOptions sized{.data = "cifar-10"};
  sized.feature_size = FeatureSize::small;
  EXPECT_THAT(refusal(sized), ::testing::HasSubstr("`feature-size`"));
}

}  // namespace
}  // namespace fodp
