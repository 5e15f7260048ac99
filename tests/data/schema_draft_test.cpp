// A draft tells what was seen, and is refused until it is confirmed.
#include "fodp/data/schema_draft.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/temporary_files.h"
#include "fodp/base/check.h"
#include "fodp/data/table.h"

namespace fodp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::filesystem::path write_draft(const std::string& text) {
  static const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / "draft_test.csv";
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

TEST(SchemaDraft, KnowsTheKindsOfColumns) {
  std::string text = "age;when;work;id;income\n";
  for (int i = 0; i < 150; ++i)
    text += fmt::format("{};2020-01-{:02};{};u{};{}\n", i == 3 ? "?" : std::to_string(20 + i % 50), 1 + i % 28, i % 2 ? "state" : "a \"b\"",
                        i, i % 3 ? "high" : "low");
  std::string quoted;
  for (std::size_t at = 0; at < text.size(); ++at) quoted += text[at];
  for (std::size_t at = quoted.find("a \"b\""); at != quoted.npos; at = quoted.find("a \"b\"", at + 9))
    quoted.replace(at, 5, "\"a \"\"b\"\"\"");
  const std::filesystem::path file = write_draft(quoted);
  const std::string draft = draft_schema(file);
  const Schema schema = schema_from_toml(draft, "draft");
  EXPECT_EQ(schema.csv.separator, ';');
  EXPECT_TRUE(schema.header);
  EXPECT_EQ(schema.missing, "?");
  ASSERT_EQ(schema.columns.size(), 5u);
  EXPECT_EQ(schema.columns[0].kind, ColumnKind::number);
  EXPECT_EQ(schema.columns[0].low, 20);
  EXPECT_EQ(schema.columns[0].high, 69);
  EXPECT_EQ(schema.columns[0].if_missing, IfMissing::indicator);
  EXPECT_EQ(schema.columns[1].kind, ColumnKind::date);
  EXPECT_THAT(schema.columns[2].values, ElementsAre("a \"b\"", "state"));
  EXPECT_EQ(schema.columns[3].kind, ColumnKind::ignore);
  EXPECT_THAT(schema.label().values, ElementsAre("high", "low"));
  for (const Column& column : schema.columns) EXPECT_EQ(column.from_data, column.kind != ColumnKind::ignore) << column.name;
  EXPECT_THROW(check_confirmed(schema, "draft"), PrivacyError);
  TableRows rows(schema);
  rows.add_file(file, TableUse::train);
  EXPECT_EQ(rows.count(), 150);
}

TEST(SchemaDraft, TablesWithoutAHeaderAndWithACommentAreRead) {
  const Schema schema = schema_from_toml(draft_schema(write_draft("|note\n1, a, 5\n2, b, 6\n3, a, 7\n")), "draft");
  EXPECT_FALSE(schema.header);
  EXPECT_EQ(schema.csv.comment, "|");
  EXPECT_EQ(schema.columns[1].kind, ColumnKind::category);
  EXPECT_EQ(schema.columns[2].name, "c3");
}

TEST(SchemaDraft, WhatIsNoTableIsRefused) {
  EXPECT_THAT([] { draft_schema(write_draft("a,b\n1,2\n3\n")); }, ThrowsMessage<InputError>(HasSubstr("line 3: 1 fields")));
  EXPECT_THROW(draft_schema(write_draft(std::string(100, '\0'))), InputError);
  EXPECT_THROW(draft_schema(write_draft("a,b\n")), InputError);
  EXPECT_THAT([] { draft_schema(write_draft("a,a,b\n1,2,x\n")); }, ThrowsMessage<InputError>(HasSubstr("two columns are called 'a'")));
}

TEST(SchemaDraft, ALabelOfManyTextsIsLeftToTheUser) {
  std::string text = "x,y\n";
  for (int i = 0; i < 150; ++i) text += fmt::format("{},text{}\n", i, i);
  EXPECT_THAT(draft_schema(write_draft(text)), HasSubstr("kind = \"label\"    # more than 100 different texts"));
}

}  // namespace
}  // namespace fodp
