#include "fodp/base/json_text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(JsonText, DepthIsBounded) {
  EXPECT_EQ(parse_json(nested(100), "here").dump(), nested(100));
  EXPECT_THAT(refusal([] { parse_json(nested(101), "here"); }), AllOf(StartsWith("here: "), HasSubstr("101 deep"), HasSubstr("100")));
  EXPECT_THAT(refusal([] { parse_json(nested(1'000'000), "here"); }), HasSubstr("1000000 deep"));
  EXPECT_THAT(refusal([] { parse_json(std::string(1'000'000, '{'), "here"); }), HasSubstr("1000000 deep"));
}

TEST(JsonText, BracketsInTextsAreNoDepth) {
  const std::string many(1000, '['), text = "[\"" + many + "\\\"" + many + "\\\\\", {\"" + many + "\": 1}]";
  EXPECT_EQ(parse_json(text, "here")[0], many + "\"" + many + "\\");
}

TEST(JsonText, WhatIsNotJsonIsRefused) {
  for (const char* text : {"", "{", "[1,]", "\"", "\"\\", "{\"a\": 1} x", "\xff", "nul"})
    EXPECT_THAT(refusal([&] { parse_json(text, "here"); }), StartsWith("here: not JSON: ")) << text;
}

// To open one would wait for somebody to write into it.
TEST(JsonText, APipeIsRefused) {
  const auto pipe = std::filesystem::temp_directory_path() / ("fodp_json_pipe_" + std::to_string(::getpid()));
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { read_text_file(pipe, "here"); }), HasSubstr("here: not a file that can be read"));
  std::filesystem::remove(pipe);
}

TEST(JsonText, FilesAreReadWholeOrRefused) {
  const auto file = std::filesystem::temp_directory_path() / ("fodp_json_text_" + std::to_string(::getpid()));
  std::ofstream(file) << std::string("a\0b\n", 4);
  EXPECT_EQ(read_text_file(file, "here"), std::string("a\0b\n", 4));
  std::filesystem::resize_file(file, (64 << 20) + 1);  // takes no room on the disk
  EXPECT_THAT(refusal([&] { read_text_file(file, "here"); }), AllOf(StartsWith("here: has 67108865 bytes"), HasSubstr("67108864")));
  std::filesystem::remove(file);
  EXPECT_THAT(refusal([&] { read_text_file(file, "here"); }), HasSubstr("here: not a file that can be read"));
  EXPECT_THAT(refusal([&] { read_text_file(".", "here"); }), HasSubstr("here: not a file that can be read"));
}

}  // namespace
}  // namespace fodp
