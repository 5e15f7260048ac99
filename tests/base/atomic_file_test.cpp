#include "fodp/base/atomic_file.h"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

class AtomicFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fodp-atomic-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string content(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::size_t files() { return std::distance(std::filesystem::directory_iterator(folder_), {}); }

  std::filesystem::path folder_;
};

TEST_F(AtomicFile, WritesAndReplaces) {
  write_file_atomically(folder_ / "a", "first", "file");
  write_file_atomically(folder_ / "a", std::string("sec\0nd", 6), "file");
  EXPECT_EQ(content(folder_ / "a"), std::string("sec\0nd", 6));
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFile, AFailureLeavesWhatWasThereAndNothingElse) {
  std::filesystem::create_directories(folder_ / "taken/inside");
  EXPECT_THROW(write_file_atomically(folder_ / "taken", "x", "file"), InputError);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "taken/inside"));
  EXPECT_EQ(files(), 1u);
  EXPECT_THROW(write_file_atomically(folder_ / "no/such/folder/a", "x", "file"), InputError);
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace fodp
