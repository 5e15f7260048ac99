// A file is read in one sitting and a function fits a screen.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "architecture/outline.h"

namespace {

constexpr int most_file_lines = 400, most_function_lines = 50;

using Found = std::vector<std::string>;

Found too_long(const std::vector<outline::SourceFile>& files) {
  Found found;
  for (const auto& [name, text] : files) {
    const auto lines = std::ranges::count(text, '\n');
    if (lines > most_file_lines) found.push_back(fmt::format("{} has {} lines: at most {}", name, lines, most_file_lines));
    for (const auto& [head, first, last] : outline::of(text, name).functions)
      if (last - first + 1 > most_function_lines)
        found.push_back(
            fmt::format("{}:{} has a function of {} lines: at most {}: {}", name, first, last - first + 1, most_function_lines, head));
  }
  return found;
}

TEST(Architecture, NoFileAndNoFunctionIsTooLong) { EXPECT_EQ(too_long(outline::source_files({"src"})), Found()); }

TEST(Architecture, ALongFileOrFunctionIsFound) {
  const auto lines = [](int count) { return std::string(static_cast<std::size_t>(count), '\n'); };
  const auto found = [](const std::string& text) { return too_long({{"a.cpp", text}}); };
  EXPECT_EQ(found(lines(400)), Found());
  EXPECT_EQ(found(lines(401)), Found{"a.cpp has 401 lines: at most 400"});
  EXPECT_EQ(found("namespace a {\n" + lines(60) + "void f() {" + lines(49) + "}\nclass B {" + lines(60) + "};\n}"), Found());
  EXPECT_EQ(found("void f() {\n  if (true) {\n  }" + lines(48) + "}"), Found{"a.cpp:1 has a function of 51 lines: at most 50: void f()"});
  EXPECT_EQ(found("class B {\n public:\n  B() : x_{1},\n        y_(2) {" + lines(49) + "}\n};").size(), 1u);
  EXPECT_EQ(found("const std::map<int, int> a = {" + lines(60) + "};\nvoid f() {}"), Found());
  EXPECT_EQ(found("template <class T>\nT f(T a = {}) {\n  const char x = '{', y = '\\'';" + lines(48) + "}\nvoid g() {}").size(), 1u);
}

}  // namespace
