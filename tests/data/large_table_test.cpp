// A million rows of 20 columns: every number arrives, and memory stays near what they take as float32.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>

#include <gtest/gtest.h>

#include "data/temporary_files.h"
#include "fodp/data/own_data.h"

namespace fodp {
namespace {

constexpr std::int64_t kRows = 1'000'000, kChunk = 10'000;
constexpr std::size_t kNumbers = 19;  // and a label

using Sums = std::array<double, kNumbers + 1>;

// What a process that loads the table tells of it.
struct Loaded {
  std::int64_t rows = 0;
  Sums sums{};
  double kilobytes = 0;  // the most memory that it took while it loaded
};

// Bounds are 0 and 1024, so that scaled numbers are exact in float32.
std::string schema_text() {
  std::string text;
  for (std::size_t i = 0; i < kNumbers; ++i) text += fmt::format("[columns.c{}]\nkind = \"number\"\nlow = 0\nhigh = 1024\n", i);
  return text + "[columns.y]\nkind = \"label\"\nvalues = [0, 1]\n";
}

// Writes the table and returns the sums over its columns, as the rows should have them.
Sums write_table(const std::filesystem::path& file) {
  std::array<std::string, 1024> texts;
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = std::to_string(i);
  std::ofstream stream(file, std::ios::binary);
  Sums sums{};
  std::string block;
  for (std::size_t i = 0; i < kNumbers; ++i) block += fmt::format("c{},", i);
  block += "y\n";
  std::uint64_t word = 88172645463325252u;  // xorshift (Marsaglia 2003)
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::size_t i = 0; i < kNumbers; ++i) {
      word ^= word << 13, word ^= word >> 7, word ^= word << 17;
      const std::size_t value = word >> 54;
      block.append(texts[value]).push_back(',');
      sums[i] += 2 * (static_cast<double>(value) / 1024) - 1;
    }
    block += row % 3 == 0 ? "1\n" : "0\n";
    sums[kNumbers] += row % 3 == 0 ? 1 : 0;
    if (block.size() > 1 << 20) stream << block, block.clear();
  }
  stream << block;
  return sums;
}

double kilobytes(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::strtod(line.c_str() + std::strlen(name), nullptr);
  return 0;
}

Loaded load(const DataOptions& options) {
  ::malloc_trim(0);  // what earlier tests have freed is not there to be used again
  const double before = kilobytes("VmRSS:");
  const RunData data = load_data(options);
  Loaded loaded{.rows = data.train->count(), .kilobytes = kilobytes("VmHWM:") - before};
  std::vector<std::int64_t> which(kChunk);
  for (std::int64_t begin = 0; begin < loaded.rows; begin += kChunk) {
    std::iota(which.begin(), which.end(), begin);
    const Batch batch = data.train->gather(which);
    const at::Tensor& inputs = batch.inputs;
    for (std::int64_t row = 0; row < kChunk; ++row) {
      for (std::size_t i = 0; i < kNumbers; ++i)
        loaded.sums[i] += inputs.data_ptr<float>()[row * static_cast<std::int64_t>(kNumbers) + static_cast<std::int64_t>(i)];
      loaded.sums[kNumbers] += static_cast<double>(batch.targets.data_ptr<std::int64_t>()[row]);
    }
  }
  return loaded;
}

// In a process of its own, whose largest size is that of loading alone.
Loaded load_apart(const DataOptions& options) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const Loaded loaded = load(options);
    const bool told = ::write(ends[1], &loaded, sizeof loaded) == sizeof loaded;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  Loaded loaded;
  const bool told = ::read(ends[0], &loaded, sizeof loaded) == sizeof loaded;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(told && status == 0);
  return loaded;
}

TEST(LargeTable, AMillionRowsOfTwentyColumns) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "schema.toml") << schema_text();
  const Sums expected = write_table(folder / "large.csv");
  DataOptions options;
  options.data = "table";
  options.train.names = {(folder / "large.csv").string()};
  options.schema = (folder / "schema.toml").string();
  const Loaded loaded = load_apart(options);
  EXPECT_EQ(loaded.rows, kRows);
  EXPECT_EQ(loaded.sums, expected) << "all of these numbers are exact";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr double kFloats = static_cast<double>(kRows) * (kNumbers + 1) * 4 / 1024;
  EXPECT_LT(loaded.kilobytes / kFloats, 1.5);
  EXPECT_GT(loaded.kilobytes / kFloats, .9) << "it was measured";
#endif
}

}  // namespace
}  // namespace fodp
