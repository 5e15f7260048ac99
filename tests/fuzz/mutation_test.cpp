// A short run of fuzzing within the tests: what stands in fuzz/corpus, damaged at random by a fixed seed, is read or refused by every
// target. `make fuzz` looks longer and by coverage.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "target.h"

namespace fodp::fuzz {
namespace {

using Input = std::vector<std::uint8_t>;

// Texts that readers of tables and schemas treat in ways of their own.
constexpr std::string_view kPieces[] = {"\"",
                                        "\"\"",
                                        ",",
                                        ";",
                                        "\n",
                                        "\r\n",
                                        "\r",
                                        "\t",
                                        "nan",
                                        "inf",
                                        "-0",
                                        "1e999",
                                        "1e-999",
                                        "0x1p9",
                                        "\xEF\xBB\xBF",
                                        "\xFF\xFE",
                                        "\xC3\x28",
                                        "#",
                                        "[[",
                                        "]",
                                        "= ",
                                        "'''",
                                        "values = []",
                                        "low = 1e308",
                                        "high = -1e308",
                                        "log = true",
                                        "rows-per-unit = 9",
                                        "kind = \"unit\""};

std::vector<Input> seeds_of(std::string_view target) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FODP_SOURCE_DIR "/fuzz/corpus") / target))
    files.push_back(entry.path());
  std::ranges::sort(files);  // so that one seed gives one run on every machine
  std::vector<Input> seeds;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

void damage(Input& input, std::mt19937& engine) {
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(engine() % std::max<std::size_t>(1, count)); };
  const std::size_t at = below(input.size() + 1), most = input.size() - at;
  const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
  const auto end = place + static_cast<std::ptrdiff_t>(std::min(most, 1 + below(40)));
  switch (engine() % 5) {
    case 0:
      if (most > 0) *place ^= static_cast<std::uint8_t>(1 << below(8));
      return;
    case 1:
      input.erase(place, end);
      return;
    case 2: {
      const Input piece(place, end);
      input.insert(input.begin() + static_cast<std::ptrdiff_t>(below(input.size() + 1)), piece.begin(), piece.end());
      return;
    }
    case 3: {
      const std::string_view piece = kPieces[below(std::size(kPieces))];
      input.insert(place, piece.begin(), piece.end());
      return;
    }
    default:
      input.resize(at);
  }
}

TEST(FuzzMutation, DamagedTablesAreReadOrRefused) {
  const auto target = std::ranges::find(targets(), "table", &Target::name);
  ASSERT_NE(target, targets().end());
  const std::vector<Input> seeds = seeds_of("table");
  ASSERT_FALSE(seeds.empty());
  std::mt19937 engine(15);
  constexpr int kInputs = 2000;
  int read = 0;
  for (int i = 0; i < kInputs; ++i) {
    Input input = seeds[engine() % seeds.size()];
    for (std::uint32_t times = 1 + engine() % 4; times > 0; --times) damage(input, engine);
    EXPECT_NO_THROW(read += reads(*target, input)) << "input " << i << ": " << text(input);
  }
  EXPECT_GT(read, kInputs / 20) << "much of the damage leaves a table, so that more than the first check is reached";
  EXPECT_LT(read, kInputs);
}

}  // namespace
}  // namespace fodp::fuzz
