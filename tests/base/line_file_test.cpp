#include "fodp/base/line_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

class Lines : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fodp-lines-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string content(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::filesystem::path folder_;
};

TEST_F(Lines, AreAddedOneByOne) {
  LineFile file(folder_ / "a", "file");
  file.add("first");
  EXPECT_EQ(content(folder_ / "a"), "first\n");
  file.add("second");
  EXPECT_EQ(content(folder_ / "a"), "first\nsecond\n");
}

TEST_F(Lines, OverwriteNothingAndFollowNoLink) {
  std::ofstream(folder_ / "there") << "mine";
  std::filesystem::create_symlink(folder_ / "there", folder_ / "link");
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / "dangling");
  for (const char* name : {"there", "link", "dangling"}) EXPECT_THROW(LineFile(folder_ / name, "file"), InputError) << name;
  EXPECT_EQ(content(folder_ / "there"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

// A limit on the size of files stands in for a disk that is full.
TEST_F(Lines, ALineThatDoesNotFitLeavesNoPartOfIt) {
  LineFile file(folder_ / "a", "file");
  file.add("first");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto ignore = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(file.add("a second line"), FaultError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignore);
  EXPECT_EQ(content(folder_ / "a"), "first\n");
  file.add("third");
  EXPECT_EQ(content(folder_ / "a"), "first\nthird\n");
}

}  // namespace
}  // namespace fodp
