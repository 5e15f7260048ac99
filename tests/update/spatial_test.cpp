// The spatial low pass: by hand on waves, on what it must leave alone, and on the runs that it does not fit.
#include <cmath>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/update/filter.h"

namespace fodp {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kChannels = 2, kHeight = 4, kWidth = 6, kUnits = 3, kColumns = kChannels * kHeight * kWidth;

const FilterEntry& entry() { return find_entry(filter_table(), "filter", "spatial"); }

// A first layer of three units on images, its bias, and a second layer.
RunContext context() {
  RunContext context;
  context.row_shape = {kChannels, kHeight, kWidth};
  context.layers = {{"1", 0, kUnits * kColumns + kUnits, 0, kUnits, kColumns},
                    {"3", kUnits * kColumns + kUnits, kUnits * kColumns + 20, 0, 0, 0}};
  context.parameters = kUnits * kColumns + 20;
  return context;
}

std::vector<float> filtered(const std::vector<float>& sum) {
  const std::unique_ptr<Filter> filter = entry().make(context());
  const std::span<const float> values = filter->apply(sum);
  return {values.begin(), values.end()};
}

TEST(Spatial, AWaveIsScaledByItsFrequency) {
  for (int u = 0; u < kHeight; ++u)
    for (int v = 0; v < kWidth; ++v) {
      std::vector<float> sum(kUnits * kColumns + 20, 0.0f);
      const std::int64_t image = (1 * kChannels + 1) * kHeight * kWidth;  // the second unit's second channel
      for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x)
          sum[image + y * kWidth + x] =
              static_cast<float>(std::cos(std::numbers::pi * (y + .5) * u / kHeight) * std::cos(std::numbers::pi * (x + .5) * v / kWidth));
      const std::vector<float> out = filtered(sum);
      for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(out[i], sum[i] / (1 + (u * u + v * v) / 16.), 1e-6) << u << " " << v;
    }
}

TEST(Spatial, BiasesAndOtherLayersPassAsTheyAre) {
  std::vector<float> sum(kUnits * kColumns + 20);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<float>(std::sin(double(i * i)));
  const std::vector<float> out = filtered(sum);
  for (std::size_t i = kUnits * kColumns; i < sum.size(); ++i) EXPECT_EQ(out[i], sum[i]);
  EXPECT_NE(out[0], sum[0]);
}

TEST(Spatial, ModelsWhoseFirstLayerIsNotLinearOnImagesAreRefused) {
  RunContext other = context();
  const auto complaint = [&] {
    try {
      entry().check(other);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(complaint(), "accepted");
  other.layers.front().columns = 27;  // a convolution
  EXPECT_THAT(complaint(), HasSubstr("`filter`"));
  other = context();
  other.row_shape = {kColumns};
  EXPECT_THAT(complaint(), HasSubstr("layer '1'"));
}

}  // namespace
}  // namespace fodp
