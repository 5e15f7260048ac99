// From a schema and a file to numbers.
#include "fodp/data/table.h"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/temporary_files.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr char kPeople[] = R"(
missing = "?"
[columns.age]
kind = "number"
low = 0
high = 100
[columns.gain]
kind = "number"
low = 0
high = 1000
log = true
if_missing = "indicator"
[columns.work]
kind = "category"
values = ["private", "state"]
[columns.since]
kind = "date"
format = "%Y-%m-%d"
low = "2000-01-01"
high = "2000-01-11"
[columns.note]
kind = "ignore"
[columns.income]
kind = "label"
values = ["<=50K", ">50K"]
trim = "."
)";

std::filesystem::path write_table(const std::string& text, const std::string& name = "table_test.csv") {
  static const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / name;
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

TableRows read(const std::string& schema, const std::string& text, TableUse use = TableUse::train) {
  TableRows rows(schema_from_toml(schema, "own.toml"));
  rows.add_file(write_table(text), use);
  return rows;
}

std::vector<float> inputs_of(const Rows& rows, std::int64_t row) {
  const Batch batch = rows.gather(std::vector<std::int64_t>{row});
  const at::Tensor& inputs = batch.inputs;
  return {inputs.data_ptr<float>(), inputs.data_ptr<float>() + inputs.numel()};
}

constexpr char kHeader[] = "age,gain,work,since,note,income\n";

TEST(Table, EveryKindOfColumnBecomesNumbers) {
  const TableRows rows = read(kPeople, std::string(kHeader) + "75,0,state,2000-01-06,x,>50K.\n300,?,other,1999-01-01,,<=50K\n");
  ASSERT_EQ(rows.count(), 2);
  // age, gain, gain is missing, private, state, others, since
  EXPECT_THAT(inputs_of(rows, 0), ElementsAre(.5f, -1, 0, 0, 1, 0, 0));
  EXPECT_THAT(inputs_of(rows, 1), ElementsAre(1, 0, 1, 0, 0, 1, -1));
  EXPECT_EQ(rows.target().classes, 2);
  EXPECT_EQ(rows.gather(std::vector<std::int64_t>{0, 1}).targets[0].item<std::int64_t>(), 1);
  EXPECT_EQ(rows.inputs().front().shape, std::vector<std::int64_t>{7});
  const Column gain = rows.schema().columns[1];
  EXPECT_NEAR(scaled(gain, 30), 2 * std::log(31.0) / std::log(1001.0) - 1, 1e-12);
}

TEST(Table, ColumnsAreFoundByNameInAnyOrder) {
  const TableRows rows = read(kPeople, "income,note,since,work,gain,age\n<=50K,,2000-01-01,private,0,50\n");
  EXPECT_THAT(inputs_of(rows, 0), ElementsAre(0, -1, 0, 1, 0, 0, -1));
}

TEST(Table, WithoutAHeaderColumnsComeInTheOrderOfTheSchema) {
  const std::string schema = "header = false\n" + std::string(kPeople);
  EXPECT_THAT(inputs_of(read(schema, "50,0,private,2000-01-01,,<=50K\n"), 0), ElementsAre(0, -1, 0, 1, 0, 0, -1));
  EXPECT_THAT(inputs_of(read(schema, "50,0,private,2000-01-01,\n", TableUse::predict), 0), ElementsAre(0, -1, 0, 1, 0, 0, -1))
      << "what is to be predicted may be missing";
  EXPECT_THAT([&] { read(schema, "50,0,private,2000-01-01,\n"); }, ThrowsMessage<InputError>(HasSubstr("line 1: 5 fields, expected 6")));
}

TEST(Table, ANumberAsLabelIsScaled) {
  const TableRows rows = read("[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1\n[columns.y]\nkind = \"label\"\nlow = 10\nhigh = 30\n",
                              "x,y\n0,10\n1,25\n1,99\n");
  EXPECT_EQ(rows.target().kind, Target::Kind::number);
  const at::Tensor targets = rows.gather(std::vector<std::int64_t>{0, 1, 2}).targets;
  EXPECT_EQ(targets[0].item<float>(), -1);
  EXPECT_EQ(targets[1].item<float>(), .5f);
  EXPECT_EQ(targets[2].item<float>(), 1);
  EXPECT_EQ(unscaled(rows.schema().label(), .5), 25);
}

TEST(Table, UnitsAreNumberedByTheirFirstRowAcrossFiles) {
  TableRows rows(
      schema_from_toml("privacy-unit = \"who\"\n[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1\n[columns.who]\nkind = "
                       "\"ignore\"\n[columns.y]\nkind = \"label\"\nvalues = [0, 1]\n",
                       "own.toml"));
  rows.add_file(write_table("x,who,y\n0,ann,0\n0,bob,1\n1,ann,1\n"), TableUse::train);
  rows.add_file(write_table("who,x,y\ncleo,0,0\nbob,0,1\n"), TableUse::train);
  EXPECT_THAT(rows.unit_of_row(), ElementsAre(0, 1, 0, 2, 1));
}

// They would be one unit, and each person a part of it.
TEST(Table, RowsOfNobodyAreRefused) {
  const std::string schema =
      "missing = \"?\"\n[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1\n[columns.who]\nkind = \"unit\"\n[columns.y]\nkind = "
      "\"label\"\nvalues = [0, 1]\n";
  for (const char* nobody : {"?", "", "\"\""})
    EXPECT_THAT([&] { read(schema, fmt::format("x,who,y\n0,ann,1\n0,{},1\n", nobody)); },
                ThrowsMessage<InputError>(HasSubstr("line 3: column 'who': expected the unit that the row belongs to")))
        << nobody;
}

// More rows than a chunk has.
TEST(Table, ManyRows) {
  std::string text = "x,y\n";
  for (int i = 0; i < 140000; ++i) text += std::to_string(i % 1001) + "," + std::to_string(i % 2) + "\n";
  const TableRows rows =
      read("[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1000\n[columns.y]\nkind = \"label\"\nvalues = [0, 1]\n", text);
  ASSERT_EQ(rows.count(), 140000);
  for (const std::int64_t row : {0, 65535, 65536, 131072, 139999})
    EXPECT_EQ(inputs_of(rows, row)[0], static_cast<float>(2 * (static_cast<double>(row % 1001) / 1000) - 1)) << row;
}

// As of a small file that unpacks to a huge one.
TEST(Table, MoreRowsThanMemoryAreRefused) {
  std::string text = "x,y\n";
  for (int i = 0; i < 140000; ++i) text += "1,0\n";
  const Schema schema =
      schema_from_toml("[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1\n[columns.y]\nkind = \"label\"\nvalues = [0, 1]\n", "own.toml");
  TableRows small(schema, 1e6), large(schema, 1e7);
  EXPECT_THAT([&] { small.add_file(write_table(text), TableUse::train); },
              ThrowsMessage<InputError>(HasSubstr("table_test.csv: its rows take more memory than there is")));
  EXPECT_NO_THROW(large.add_file(write_table(text), TableUse::train));
  EXPECT_GT(memory_of_this_machine(), 1e8);
}

struct Bad {
  const char* row;
  const char* says;
};

// With file, line, column and what was expected, and never with the value.
TEST(Table, WrongValuesAreRefusedWithTheirPlace) {
  for (const Bad& bad : {
           Bad{"SECRET,0,private,2000-01-01,,<=50K", "line 2: column 'age': expected a finite number"},
           {"nan,0,private,2000-01-01,,<=50K", "column 'age': expected a finite number"},
           {"inf,0,private,2000-01-01,,<=50K", "column 'age': expected a finite number"},
           {"1e999,0,private,2000-01-01,,<=50K", "column 'age': expected a finite number"},
           {"?,0,private,2000-01-01,,<=50K", "column 'age': expected a value: there is none"},
           {"1,0,?,2000-01-01,,<=50K", "column 'work': expected a value: there is none"},
           {"1,0,private,SECRET,,<=50K", "column 'since': expected a date of the format %Y-%m-%d"},
           {"1,0,private,2000-01-01 SECRET,,<=50K", "column 'since'"},
           {"1,0,private,2000-01-01,,SECRET", "column 'income': expected one of the 2 classes"},
           {"1,0,private,2000-01-01,<=50K", "line 2: 5 fields, expected 6"},
       })
    EXPECT_THAT([&] { read(kPeople, std::string(kHeader) + bad.row + "\n"); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("table_test.csv"), HasSubstr(bad.says), Not(HasSubstr("SECRET")))))
        << bad.row;
}

TEST(Table, ASchemaForAnotherFileIsRefused) {
  EXPECT_THAT([] { read(kPeople, "age,gain,work,since,note\n"); }, ThrowsMessage<InputError>(HasSubstr("there is no column 'income'")));
  EXPECT_THAT([] { read(kPeople, "age,gain,work,since,note,income,zip\n"); },
              ThrowsMessage<InputError>(HasSubstr("the schema does not know the column 'zip'")));
  EXPECT_THAT([] { read(kPeople, "age,age,work,since,note,income\n"); },
              ThrowsMessage<InputError>(HasSubstr("two columns are called 'age'")));
  EXPECT_THAT([] { read(kPeople, kHeader); }, ThrowsMessage<InputError>(HasSubstr("has no rows after its header")));
}

TEST(Schema, BadOnesAreRefusedWithFileLineAndKey) {
  const std::string x = "[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1\n", y = "[columns.y]\nkind = \"label\"\nvalues = [0, 1]\n";
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {x, "0 columns have kind = \"label\""},
           {y, "no column is an input"},
           {"", "has no columns"},
           {x + y + "[columns.z]\nkind = \"label\"\nvalues = [0, 1]\n", "2 columns have kind = \"label\""},
           {"[columns.x]\nkind = \"numbr\"\n" + y, "line 2: columns.x.kind: 'numbr' is not known: did you mean 'number'"},
           {"[columns.x]\nkind = \"number\"\nlow = 1\nhigh = 1\n" + y, "columns.x: needs low and high"},
           {"[columns.x]\nkind = \"number\"\nlow = 0\nhigh = inf\n" + y, "columns.x: needs low and high"},
           {"[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1\nlgo = true\n" + y, "line 5: columns.x.lgo"},
           {"[columns.x]\nkind = \"number\"\nhigh = 1\n" + y, "columns.x.low: is missing"},
           {x + "[columns.y]\nkind = \"label\"\nlow = 1\n", "columns.y.high: is missing"},
           {x + "[columns.y]\nkind = \"label\"\nvalues = [0, 1]\nlow = -1\nhigh = 0\n", "classes (values) or bounds"},
           {x + "[columns.y]\nkind = \"label\"\nvalues = [[0], 1]\n", "line 7: columns.y.values: expected a list of texts"},
           {"[columns.x]\nkind = \"category\"\n" + y, "columns.x: a category needs values"},
           {"[columns.x]\nkind = \"category\"\nvalues = [\"a\", \"a\"]\n" + y, "the value 'a' stands there twice"},
           {"[columns.x]\nkind = \"date\"\nformat = \"%Y\"\nlow = \"yesterday\"\nhigh = \"2000\"\n" + y,
            "line 4: columns.x.low: 'yesterday'"},
           {x + "[columns.y]\nkind = \"label\"\nvalues = [1]\n", "at least two classes"},
           {"separator = \"::\"\n" + x + y, "line 1: separator: expected one character"},
           {"privacy-unit = \"who\"\n" + x + y, "there is no column 'who'"},
           {"rows-per-unit = 3\n" + x + y, "rows-per-unit is for a table with a unit"},
           {"privacy-unit = \"a\"\n" + x + y + "[columns.a]\nkind = \"ignore\"\n[columns.b]\nkind = \"unit\"\n",
            "line 1: privacy-unit: names 'a', and the column 'b' has kind = \"unit\""},
           {x + y + "[columns.row]\nkind = \"unit\"\n", "the unit is a column called 'row'"},
           {"[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 5e-324\n" + y, "columns.x: low and high are too near to each other"},
           {"[columns.x]\nkind = \"number\"\nlog = true\nlow = -1e308\nhigh = 1e308\n" + y, "columns.x: low and high are too near"},
       })
    EXPECT_THAT([&] { schema_from_toml(text, "own.toml"); }, ThrowsMessage<InputError>(AllOf(HasSubstr("own.toml"), HasSubstr(says))))
        << text;
}

TEST(Schema, WhatCameFromTheDataMustBeConfirmed) {
  const std::string y = "[columns.y]\nkind = \"label\"\nvalues = [0, 1]\n";
  const Schema schema = schema_from_toml("[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1\nfrom_data = true\n" + y, "own.toml");
  EXPECT_THAT([&] { check_confirmed(schema, "own.toml"); },
              ThrowsMessage<PrivacyError>(HasSubstr("1 column were taken from the data (x)")));
  EXPECT_NO_THROW(check_confirmed(schema_from_toml("[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 1\n" + y, "own.toml"), "own.toml"));
}

}  // namespace
}  // namespace fodp
