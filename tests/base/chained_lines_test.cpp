#include "fodp/base/chained_lines.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ChainedLinesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fodp-lines-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    file_ = folder_ / "ledger";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_three() {
    ChainedLines lines = ChainedLines::create(file_);
    for (const char* text : {"one", "two and more", "three"}) lines.append(text);
  }
  std::string content() {
    std::ifstream stream(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void put(const std::string& bytes) { std::ofstream(file_, std::ios::binary) << bytes; }

  std::filesystem::path folder_, file_;
};

TEST_F(ChainedLinesTest, AreReadAsTheyWereWrittenAndGoOn) {
  write_three();
  ChainedText text;
  {
    ChainedLines lines = ChainedLines::open(file_, text);
    EXPECT_THAT(text.lines, ElementsAre("one", "two and more", "three"));
    lines.append("four");
  }
  text = read_chained_lines(file_);
  EXPECT_THAT(text.lines, ElementsAre("one", "two and more", "three", "four"));
  EXPECT_FALSE(text.torn);
  struct stat status {};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(ChainedLinesTest, EveryCutWithinALineIsATornEndAndGoesOn) {
  write_three();
  const std::string whole = content();
  const std::size_t third = whole.rfind("three");
  for (std::size_t length = third + 1; length < whole.size(); ++length) {
    put(whole.substr(0, length));
    ChainedText text = read_chained_lines(file_);
    EXPECT_TRUE(text.torn);
    EXPECT_THAT(text.lines, ElementsAre("one", "two and more"));
    {
      ChainedLines lines = ChainedLines::open(file_, text);
      lines.append("instead");
    }
    text = read_chained_lines(file_);
    EXPECT_FALSE(text.torn);
    EXPECT_THAT(text.lines, ElementsAre("one", "two and more", "instead"));
  }
}

// A changed byte within the last line may look like a torn end; the lines before it hold. Any other change is refused.
TEST_F(ChainedLinesTest, EveryChangedByteIsFound) {
  write_three();
  const std::string whole = content();
  const std::size_t third = whole.rfind("three");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    put(changed);
    if (i < third || i + 1 == whole.size()) {
      EXPECT_THROW(read_chained_lines(file_), PrivacyError) << i;
    } else {
      EXPECT_TRUE(read_chained_lines(file_).torn) << i;
    }
  }
}

TEST_F(ChainedLinesTest, OneProcessAtATime) {
  write_three();
  ChainedText text;
  const ChainedLines first = ChainedLines::open(file_, text);
  try {
    ChainedLines::open(file_, text);
    FAIL() << "opened twice";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("another process"));
  }
  EXPECT_EQ(read_chained_lines(file_).lines.size(), 3u) << "anybody may read";
}

TEST_F(ChainedLinesTest, NeitherOverwriteNorFollowALink) {
  write_three();
  EXPECT_THROW(ChainedLines::create(file_), InputError);
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / "link");
  EXPECT_THROW(ChainedLines::create(folder_ / "link"), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

}  // namespace
}  // namespace fodp
