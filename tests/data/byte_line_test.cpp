// Bytes become the float32 numbers that docs/ and the interface promise: (byte/255 - mean)/std, in double and then rounded.
#include <array>

#include <gtest/gtest.h>

#include "fodp/base/wide_loops.h"
#include "fodp/data/dataset.h"

namespace fodp {
namespace {

TEST(ByteLine, GivesTheNormalisedFloatsOfEveryNamedDataSetBitForBit) {
  std::array<std::uint8_t, 256> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  for (const DataSource& source : data_sources())
    for (std::size_t c = 0; c < source.format.mean.size(); ++c) {
      const double mean = source.format.mean[c], std = source.format.std[c];
      std::array<float, 256> values;
      ByteLine(mean, std).apply(bytes, values.data());
      for (std::size_t i = 0; i < bytes.size(); ++i)
        EXPECT_EQ(values[i], static_cast<float>((static_cast<double>(i) / 255 - mean) / std)) << source.format.name << ", byte " << i;
    }
}

}  // namespace
}  // namespace fodp
