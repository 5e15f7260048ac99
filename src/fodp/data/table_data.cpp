// --data table: text tables with a schema.
#include <numeric>

#include <fmt/ranges.h>

#include "fodp/base/check.h"
#include "fodp/base/json_text.h"
#include "fodp/data/own_data.h"
#include "fodp/data/row_views.h"
#include "fodp/data/table.h"

namespace fodp {
namespace {

const std::string& schema_file(const DataOptions& options) {
  check_input(
      options.schema.has_value(),
      "`data` table needs `schema`, a file that says what the columns are and the bounds of their values: bounds taken from the rows "
      "would tell of the rows. To begin with: fodp schema {} > schema.toml",
      options.train.names.empty() ? "FILE.csv" : options.train.names.front());
  return *options.schema;
}

void check_own_test_files(const DataOptions& options) {
  std::error_code ignored;
  for (const std::string& test : options.test.names)
    for (const std::string& train : options.train.names)
      check_input(test != train && !std::filesystem::equivalent(test, train, ignored),
                  "`test` {}: is a file that is trained on: give rows that are not, or hold some out (`test-fraction`)", test);
}

DataDescription describe(const DataOptions& options) {
  const Schema schema = schema_of(options);
  check_confirmed(schema, *options.schema);
  check_input(!options.train.names.empty(), "`data` table needs `train`, the file to train on");
  check_input(options.test.names.empty() || !options.test_fraction, "`test` and `test-fraction`: give one of them");
  check_own_test_files(options);
  check_input(options.test_fraction || !options.test_seed, "`test-seed` is for `test-fraction`");
  check_input(!options.insecure_validation, "`insecure-validation` is for named data sets: a table has `test-fraction`");
  check_input(!options.data_dir, "`data-dir` is for named data sets: `train` names the files of a table");
  DataDescription about = describe_table(schema, read_text_file(*options.schema, *options.schema));
  if (options.privacy_unit) about.inputs["privacy_unit"] = *options.privacy_unit;
  about.name = fmt::format("{}", fmt::join(options.train.names, ", "));
  about.test_is_public = options.test_public || (options.test.names.empty() && !options.test_fraction);
  return about;
}

std::vector<std::int64_t> first(std::vector<std::int64_t> rows, const std::optional<std::int64_t>& size, std::string_view option) {
  if (!size) return rows;
  check_input(*size <= static_cast<std::int64_t>(rows.size()), "{} is {}: there are {} rows", option, *size, rows.size());
  rows.resize(static_cast<std::size_t>(*size));
  return rows;
}

// Test rows that count by unit are not cut to the first so many: the rows of one unit would decide how many of the others are among them.
bool tests_by_unit(const DataOptions& options, const DataDescription& about) {
  return about.unit != "row" && (options.test_fraction || !about.test_is_public);
}

// The rows, or the units that they belong to.
std::shared_ptr<const Rows> by_unit(std::shared_ptr<const TableRows> table, std::vector<std::int64_t> rows, std::int64_t rows_per_unit) {
  if (table->schema().unit()) return rows_by_unit(table, table->unit_of_row(), rows, rows_per_unit);
  if (static_cast<std::int64_t>(rows.size()) == table->count()) return table;
  return std::make_shared<SomeRows>(table, std::move(rows));
}

RunData load(const DataOptions& options) {
  RunData data{.about = describe(options)};
  const Schema schema = schema_of(options);
  check_input(!schema.unit() || !options.train_size, "`train-size` is for tables whose rows are each by itself: here the unit is {}",
              data.about.unit);
  check_input(!tests_by_unit(options, data.about) || !options.test_size,
              "`test-size` is for test rows that are each by itself: here the unit is {}", data.about.unit);
  auto table = std::make_shared<TableRows>(schema);
  if (options.test_fraction) table->hold_out(*options.test_fraction, static_cast<std::uint64_t>(options.test_seed.value_or(0)));
  Sha256 contents;
  for (const std::string& file : options.train.names) table->add_file(file, TableUse::train, &contents);
  table->end_of_files();
  data.fingerprint = contents.text();
  std::vector<std::int64_t> kept, held;
  for (std::int64_t row = 0; row < table->count(); ++row)
    (options.test_fraction && table->held_out()[static_cast<std::size_t>(row)] ? held : kept).push_back(row);
  check_input(!kept.empty(), "`test-fraction` {}: no row is left to train on", number_text(options.test_fraction.value_or(0)));
  data.train = by_unit(table, first(std::move(kept), options.train_size, "`train-size`"), schema.rows_per_unit);
  if (options.test_fraction) {
    check_input(!held.empty(), "`test-fraction` {}: no row was held out: the table is too small for it",
                number_text(*options.test_fraction));
    data.test = by_unit(table, first(std::move(held), options.test_size, "`test-size`"), 1);
  }
  if (!options.test.names.empty()) {
    // Private test rows count by unit, too: somebody with many of them is tested with one.
    const bool units = tests_by_unit(options, data.about);
    auto test = std::make_shared<TableRows>(schema);
    for (const std::string& file : options.test.names) test->add_file(file, units ? TableUse::train : TableUse::test);
    std::vector<std::int64_t> all(static_cast<std::size_t>(test->count()));
    std::iota(all.begin(), all.end(), 0);
    all = first(std::move(all), options.test_size, "`test-size`");
    data.test = units ? by_unit(test, std::move(all), 1) : std::make_shared<SomeRows>(test, std::move(all));
  }
  return data;
}

}  // namespace

Schema schema_of(const DataOptions& options) {
  const std::string& file = schema_file(options);
  return with_unit(read_schema(file), options.privacy_unit, "`privacy-unit`");
}

DataDescription describe_table(const Schema& schema, const std::string& schema_text) {
  DataDescription about{.row_shape = {schema.inputs()}, .target = TableRows(schema).target()};
  about.class_names = schema.label().values;
  if (schema.is_regression()) about.target_scale = schema.label().high / 2 - schema.label().low / 2;
  about.inputs = {{"kind", "table"}, {"shape", {schema.inputs()}}, {"schema", schema_text}};
  if (const Column* unit = schema.unit()) about.unit = unit->name;
  about.rows_per_unit = schema.rows_per_unit;
  return about;
}

extern const DataKind kTableData = {
    .name = "table",
    .reads = {"train", "test", "schema", "privacy-unit", "test-fraction", "test-seed", "test-public"},
    .describe = describe,
    .load = load,
};

}  // namespace fodp
