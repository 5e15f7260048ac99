#include "fodp/base/utf8.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fodp {
namespace {

TEST(Utf8, IsWhatJsonTakes) {
  for (const char* text : {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text :
       {"\xFF", "\xC3", "\xC3(", "\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80"})
    EXPECT_FALSE(is_utf8(text)) << text;
  // All texts of two bytes, and of three with a last one that may follow.
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second)
      for (const std::string& end : {std::string(), std::string("\x85")}) {
        const std::string text = std::string{static_cast<char>(first), static_cast<char>(second)} + end;
        const auto dumped = [&] {
          try {
            return nlohmann::json(text).dump(), true;
          } catch (const nlohmann::json::exception&) {
            return false;
          }
        };
        ASSERT_EQ(is_utf8(text), dumped()) << first << " " << second << " " << end.size();
      }
}

}  // namespace
}  // namespace fodp
