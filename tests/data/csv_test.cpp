// Text tables, as people's programs write them and as nobody should.
#include "fodp/data/csv.h"

#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/temporary_files.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Fields = std::vector<std::string>;

std::filesystem::path write(const std::string& text) {
  static const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / "csv_test.csv";
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

struct Read {
  std::vector<Fields> rows;
  std::vector<std::int64_t> lines;
};

Read read(const std::string& text, const CsvFormat& format = {}) {
  Read out;
  read_csv(write(text), format, [&](const CsvRow& row) {
    out.rows.emplace_back(row.fields.begin(), row.fields.end());
    out.lines.push_back(row.line);
    return true;
  });
  return out;
}

TEST(Csv, RowsAndTheLinesTheyBeginAt) {
  const Read table = read(
      "\xEF\xBB\xBF"
      "a,b\r\n\r\n1, 2 \r\n\"x\ny\",\"say \"\"hi\"\"\"\r\n3,");
  EXPECT_THAT(table.rows, ElementsAre(Fields{"a", "b"}, Fields{"1", "2"}, Fields{"x\ny", "say \"hi\""}, Fields{"3", ""}));
  EXPECT_THAT(table.lines, ElementsAre(1, 3, 4, 6));
}

// As old programs write them, and with all three ends in one file.
TEST(Csv, LinesMayEndInACarriageReturnAlone) {
  const Read table = read("a,b\r#c\r1,2\r\r3,4\r\n5,6\n7,\"x\ry\"\r8,9", {',', "#"});
  EXPECT_THAT(table.rows,
              ElementsAre(Fields{"a", "b"}, Fields{"1", "2"}, Fields{"3", "4"}, Fields{"5", "6"}, Fields{"7", "x\ry"}, Fields{"8", "9"}));
  EXPECT_THAT(table.lines, ElementsAre(1, 3, 5, 6, 7, 9));
  std::string large;
  for (int i = 0; i < 3'000'000; ++i) large += "12,34\r";
  std::int64_t last = 0;
  read_csv(write(large), {}, [&](const CsvRow& row) { return last = row.line, true; });
  EXPECT_EQ(last, 3'000'000) << "and none of it is a row of 18 MB";
}

TEST(Csv, OtherSeparatorsAndComments) {
  EXPECT_THAT(read("|a comment\n1;2,5\n|more\n\"|no\";3\n", {';', "|"}).rows, ElementsAre(Fields{"1", "2,5"}, Fields{"|no", "3"}));
  EXPECT_THAT(read("a\tb\n", {'\t', ""}).rows, ElementsAre(Fields{"a", "b"}));
}

// A comment mark, a quoted field and a line break that lie on both sides of the pieces that a file is read in.
TEST(Csv, LongFilesAreReadInPieces) {
  for (int shift = 0; shift < 12; ++shift) {
    std::string text = std::string((1 << 20) - 20 + shift, 'x') + ",1\r\n##c\r\n\"a\nb\",2\r\n";
    const Read table = read(text, {',', "##"});
    ASSERT_EQ(table.rows.size(), 2u) << shift;
    EXPECT_EQ(table.rows[1], (Fields{"a\nb", "2"})) << shift;
    EXPECT_EQ(table.lines[1], 3) << shift;
  }
}

TEST(Csv, ReadingCanEndEarly) {
  int rows = 0;
  read_csv(write("1\n2\n3\n"), {}, [&](const CsvRow&) { return ++rows < 2; });
  EXPECT_EQ(rows, 2);
}

TEST(Csv, WhatIsNoTableIsRefusedWithItsLine) {
  EXPECT_THAT([] { read("a,b\n1,\"2\n3,4\n"); }, ThrowsMessage<InputError>(HasSubstr("line 2: the quote that opens")));
  EXPECT_THAT([] { read("a,b\n1,5\" pipe\n"); }, ThrowsMessage<InputError>(HasSubstr("line 2: a quote inside a field")));
  EXPECT_THAT([] { read(std::string("a,b\n1,\0", 7)); }, ThrowsMessage<InputError>(HasSubstr("line 2: a byte 0")));
  EXPECT_THAT([] { read(""); }, ThrowsMessage<InputError>(HasSubstr("is empty")));
  EXPECT_THAT([] { read("a\n\"" + std::string(std::size_t(17) << 20, 'x')); },
              ThrowsMessage<InputError>(HasSubstr("line 2: a row of more")));
}

TEST(Csv, WhatTheReceiverThrowsPassesThrough) {
  EXPECT_THROW(read_csv(write("1\n"), {}, [](const CsvRow&) -> bool { throw std::runtime_error("x"); }), std::runtime_error);
}

TEST(Csv, FieldsAreWrittenSoThatTheyReadBack) {
  for (const std::string text : {"", "a", " a", "a,b", "say \"hi\"", "two\nlines"})
    EXPECT_THAT(read("x," + csv_field(text) + "\n").rows, ElementsAre(Fields{"x", text})) << text;
}

TEST(Csv, TheDigestIsOfTheContents) {
  Sha256 digest;
  read_csv(
      write("1,2\n3,4\n"), {}, [](const CsvRow&) { return true; }, &digest);
  EXPECT_EQ(digest.text(), sha256_text("1,2\n3,4\n"));
}

}  // namespace
}  // namespace fodp
