#include "fodp/base/state_file.h"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fodp {
namespace {

State example() {
  return {{"flag", true},
          {"signed", std::int64_t{-5}},
          {"unsigned", ~std::uint64_t{0}},
          {"real", std::numeric_limits<double>::denorm_min()},
          {"floats", std::vector<float>{1.5f, -0.0f, 3e-40f}},
          {"doubles", std::vector<double>{}},
          {"text", std::string("a\0b", 3)}};
}

std::string refusal(std::string_view bytes) {
  try {
    state_from_bytes(bytes, "file");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(StateFile, IsTheSameReadBack) {
  EXPECT_EQ(state_from_bytes(state_bytes(example()), "file"), example());
  EXPECT_EQ(state_from_bytes(state_bytes({}), "file"), State{});
}

TEST(StateFile, EveryCutAndEveryChangedByteIsRefused) {
  const std::string whole = state_bytes(example());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    EXPECT_NE(refusal(changed), "accepted") << i;
    EXPECT_NE(refusal(whole.substr(0, i)), "accepted") << i;
  }
  EXPECT_THAT(refusal(whole + "x"), ::testing::HasSubstr("checksum"));
  EXPECT_THAT(refusal("PK..."), ::testing::HasSubstr("not the saved state"));
  EXPECT_THAT(refusal("fodp state 2\n"), ::testing::HasSubstr("another version"));
}

}  // namespace
}  // namespace fodp
