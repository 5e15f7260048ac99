// Parquet and Arrow files mean the same as a CSV file with the same values.
#include "fodp/data/arrow_file.h"

#include <fstream>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/temporary_files.h"
#include "fodp/data/schema_draft.h"
#include "fodp/data/table.h"
#include "python.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

constexpr char kSchema[] = R"(
missing = "?"
[columns.small]
kind = "number"
low = -100
high = 200
[columns.real]
kind = "number"
low = -10
high = 10
if_missing = "indicator"
[columns.single]
kind = "number"
low = 0
high = 1
[columns.price]
kind = "number"
low = 0
high = 1000
[columns.flag]
kind = "category"
values = ["false", "true"]
[columns.town]
kind = "category"
values = ["here", "é"]
if_missing = "indicator"
[columns.text]
kind = "category"
values = ["a b", "c"]
[columns.day]
kind = "date"
format = "%d.%m.%Y"
low = "1.1.1960"
high = "1.1.2030"
[columns.instant]
kind = "date"
format = "%Y-%m-%dT%H:%M:%S"
low = "1960-01-01T00:00:00"
high = "2030-01-01T00:00:00"
if_missing = "indicator"
[columns.parts]
kind = "ignore"
[columns.y]
kind = "label"
values = ["0", "1"]
)";

constexpr char kCsv[] =
    "small,real,single,price,flag,town,text,day,instant,parts,y\n"
    "1,0.1,0.1,12.50,true,here,a b,31.12.1999,1999-12-31T23:59:59,,0\n"
    "-128,?,0.5,999.99,false,?,c,01.01.1970,?,,1\n"
    "127,-1e300,0,0.00,true,é,other,29.02.2024,1965-06-07T08:09:10,,1\n";

// Writes rows.parquet and rows.arrow with the values of kCsv, in small batches, and files that are wrong.
constexpr char kWrite[] = R"(
import datetime as d, decimal, pyarrow as pa, pyarrow.parquet as pq
utc = d.timezone.utc
columns = {
    "small": pa.array([1, -128, 127], pa.int8()), "real": pa.array([0.1, None, -1e300], pa.float64()),
    "single": pa.array([0.1, 0.5, 0], pa.float32()), "price": pa.array([decimal.Decimal("12.50"), decimal.Decimal("999.99"), decimal.Decimal("0.00")], pa.decimal128(9, 2)),
    "flag": pa.array([True, False, True]), "town": pa.array(["here", None, "é"]).dictionary_encode(), "text": pa.array(["a b", " c ", "other"], pa.large_string()),
    "day": pa.array([d.date(1999, 12, 31), d.date(1970, 1, 1), d.date(2024, 2, 29)]),
    "instant": pa.array([d.datetime(1999, 12, 31, 23, 59, 59, 999999, utc), None, d.datetime(1965, 6, 7, 8, 9, 10, 500000, utc)], pa.timestamp("us", "UTC")),
    "parts": pa.array([[1], [2, 3], None]), "y": pa.array([0, 1, 1], pa.uint64())}
def write(table, name):
    pq.write_table(table, name + ".parquet", row_group_size=2)
    with pa.ipc.new_file(name + ".arrow", table.schema) as file: file.write_table(table, max_chunksize=2)
table = pa.table(columns)
write(table, "rows")
write(table.rename_columns([*table.column_names[:-1], "z"]), "other")
write(pa.table({**columns, "small": pa.array(["1", "2", "three"])}), "wrong")
write(pa.table({**columns, "small": pa.array([[1], [2], [3]])}), "nested")
write(table.slice(0, 0), "empty")
with pa.ipc.new_stream("rows.stream", table.schema) as file: file.write_table(table)
)";

class ArrowFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!reads_arrow()) GTEST_SKIP() << "this build has no Arrow (docs/tables.md)";
    const std::string python = testing::python_with("pyarrow");
    if (python.empty()) GTEST_SKIP() << "needs Python's pyarrow";
    std::ofstream(folder_ / "write.py") << kWrite;
    std::ofstream(folder_ / "rows.csv") << kCsv;
    ASSERT_EQ(std::system(("cd '" + folder_.path().string() + "' && " + python + " write.py").c_str()), 0);
  }

  TableRows read(const std::string& name, Sha256* contents = nullptr) const {
    TableRows rows(schema_from_toml(kSchema, "schema"));
    rows.add_file(folder_ / name, TableUse::train, contents);
    return rows;
  }

  std::string refused(const std::string& name) const {
    try {
      read(name);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(ArrowFiles, BecomeTheSameRowsAsText) {
  const std::vector<std::int64_t> all = {0, 1, 2};
  const Batch expected = read("rows.csv").gather(all);
  for (const char* name : {"rows.parquet", "rows.arrow"}) {
    const Batch got = read(name).gather(all);
    EXPECT_TRUE(got.inputs[0].equal(expected.inputs[0])) << name;
    EXPECT_TRUE(got.targets.equal(expected.targets)) << name;
  }
}

// The fingerprint of the data is that of the file's bytes; a file of any name is known by its contents.
TEST_F(ArrowFiles, AreKnownByTheirBytes) {
  Sha256 read_bytes, file_bytes;
  read("rows.parquet", &read_bytes);
  std::ifstream stream(folder_ / "rows.parquet", std::ios::binary);
  EXPECT_EQ(read_bytes.text(), file_bytes.add(std::string(std::istreambuf_iterator<char>(stream), {})).text());
  std::filesystem::copy(folder_ / "rows.arrow", folder_ / "rows.data");
  EXPECT_EQ(read("rows.data").count(), 3);
}

TEST_F(ArrowFiles, ErrorsNameFileRowAndColumnAndNoValue) {
  for (const std::string kind : {".parquet", ".arrow"}) {
    EXPECT_THAT(refused("wrong" + kind),
                AllOf(HasSubstr("wrong" + kind + ": row 3: column 'small': expected a finite number"), Not(HasSubstr("three"))));
    EXPECT_THAT(refused("nested" + kind), HasSubstr("column 'small' is of the type list, which is not read"));
    EXPECT_THAT(refused("other" + kind), HasSubstr("its columns: there is no column 'y'"));
    EXPECT_THAT(refused("empty" + kind), HasSubstr("has no rows"));
  }
  EXPECT_THAT(refused("rows.stream"), HasSubstr("format for streams"));
}

TEST_F(ArrowFiles, ASchemaIsDraftedOfThem) {
  for (const char* name : {"rows.parquet", "rows.arrow"}) {
    const Schema draft = schema_from_toml(draft_schema(folder_ / name), "draft");
    ASSERT_EQ(draft.columns.size(), 11u);
    EXPECT_EQ(draft.columns[0].kind, ColumnKind::number);
    EXPECT_EQ(draft.columns[0].low, -128);
    EXPECT_TRUE(draft.columns[0].from_data);
    EXPECT_EQ(draft.columns[7].kind, ColumnKind::date);
    EXPECT_EQ(draft.columns[7].format, "%Y-%m-%d");
    EXPECT_EQ(draft.columns[9].kind, ColumnKind::ignore) << "lists";
    EXPECT_EQ(draft.label().values, (std::vector<std::string>{"0", "1"}));
  }
}

// Cut off or changed anywhere, a file is read or refused; the seed is fixed.
TEST_F(ArrowFiles, DamagedOnesAreReadOrRefused) {
  std::mt19937 engine(5);
  int refusals = 0;
  for (const std::string name : {"rows.parquet", "rows.arrow"}) {
    const testing::Bytes whole = testing::read_bytes(folder_ / name);
    for (int i = 0; i < 400; ++i) {
      testing::Bytes bytes = whole;
      if (i % 4 == 0)
        bytes.resize(8 + engine() % (whole.size() - 8));
      else
        for (int k = 0; k < 1 + i % 3; ++k) bytes[8 + engine() % (whole.size() - 8)] = static_cast<std::uint8_t>(engine());
      testing::write_bytes(folder_ / "damaged", bytes);
      try {
        read("damaged");
      } catch (const InputError&) {
        ++refusals;
      }
    }
  }
  EXPECT_GT(refusals, 200);
}

TEST(WithoutArrow, AFileThatNeedsItIsRefusedWithWhatToDo) {
  if (reads_arrow()) GTEST_SKIP() << "this build has Arrow";
  const TemporaryFolder folder;
  std::ofstream(folder / "rows.csv") << std::string("PAR1\x15\x04", 6);
  TableRows rows(schema_from_toml(kSchema, "schema"));
  try {
    rows.add_file(folder / "rows.csv", TableUse::predict);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rows.csv: a Parquet file, and this build has no Arrow"), HasSubstr("docs/tables.md")));
  }
}

TEST(TableFormats, AreKnownByTheFirstBytes) {
  const TemporaryFolder folder;
  const auto format = [&](const std::string& text) {
    std::ofstream(folder / "file", std::ios::binary) << text;
    return table_format(folder / "file");
  };
  EXPECT_EQ(format("PAR1,b\n1,2\n"), TableFormat::text);
  EXPECT_EQ(format("PAR1\n1\n"), TableFormat::text);
  EXPECT_EQ(format("P"), TableFormat::text);
  EXPECT_EQ(format(std::string("PAR1\x15\0\x15", 7)), TableFormat::parquet);
  EXPECT_EQ(format(std::string("ARROW1\0\0\xFF\xFF", 10)), TableFormat::arrow);
  EXPECT_THROW(format("\xFF\xFF\xFF\xFF\x10"), InputError);
  EXPECT_THROW(table_format(folder / "nothing"), InputError);
}

}  // namespace
}  // namespace fodp
