// --data table: text tables with a schema.
#include "fodp/base/check.h"
#include "fodp/base/json_text.h"
#include "fodp/data/held_out.h"
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

DataDescription describe(const DataOptions& options) {
  const Schema schema = schema_of(options);
  check_confirmed(schema, *options.schema);
  DataDescription about = describe_table(schema, read_text_file(*options.schema, *options.schema));
  if (options.privacy_unit) about.inputs["privacy_unit"] = *options.privacy_unit;
  return about;
}

// A table does not tell how many rows it has without being read.
std::optional<DataSizes> sizes(const DataOptions&) { return std::nullopt; }

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

RunData load(const DataOptions& options, DataDescription about, const ReadProgress&) {
  RunData data{.about = std::move(about)};
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
  RowsInTwo rows = in_two(table->count(), table->held_out(), options);
  data.train = by_unit(table, std::move(rows.train), schema.rows_per_unit);
  if (options.test_fraction) data.test = by_unit(table, std::move(rows.test), 1);
  if (!options.test.names.empty()) {
    // Private test rows count by unit, too: somebody with many of them is tested with one.
    const bool units = tests_by_unit(options, data.about);
    auto test = std::make_shared<TableRows>(schema);
    for (const std::string& file : options.test.names) test->add_file(file, units ? TableUse::train : TableUse::test);
    std::vector<std::int64_t> all = first_rows(test->count(), options.test_size, "`test-size`");
    data.test = units ? by_unit(test, std::move(all), 1) : std::make_shared<SomeRows>(test, std::move(all));
  }
  return data;
}

Schema trained_schema(const nlohmann::json& model, const std::string& where) {
  const nlohmann::json& inputs = model.at("inputs");
  std::optional<std::string> unit;
  if (inputs.contains("privacy_unit")) unit = inputs.at("privacy_unit").get<std::string>();
  return with_unit(schema_from_toml(inputs.at("schema").get<std::string>(), where + ": schema"), unit, where + ": schema");
}

DataDescription describe_trained(const nlohmann::json& model, const std::string& where) {
  return describe_table(trained_schema(model, where), model.at("inputs").at("schema"));
}

NewRows read_new(const nlohmann::json& model, const NewRowsOptions& options, const std::string& where) {
  check_input(!options.labels, "`labels` is for .npy files: the labels of a table are one of its columns");
  auto rows = std::make_shared<TableRows>(trained_schema(model, where));
  Sha256 contents;
  rows->add_file(options.data, options.with_labels ? TableUse::test : TableUse::predict, &contents);
  return {.rows = rows, .fingerprint = contents.text()};
}

}  // namespace

Schema schema_of(const DataOptions& options) {
  const std::string& file = schema_file(options);
  return with_unit(read_schema(file), options.privacy_unit, "`privacy-unit`");
}

DataDescription describe_table(const Schema& schema, const std::string& schema_text) {
  DataDescription about{.row_shape = {schema.inputs()}, .target = TableRows(schema).target()};
  about.class_names = schema.label().values;
  if (schema.is_regression()) {
    about.target_low = schema.label().low;
    about.target_scale = schema.label().high / 2 - schema.label().low / 2;
  }
  about.inputs = {{"kind", "table"}, {"shape", {schema.inputs()}}, {"schema", schema_text}};
  if (const Column* unit = schema.unit()) about.unit = unit->name;
  about.rows_per_unit = schema.rows_per_unit;
  return about;
}

extern const DataKind kTableData = {
    .name = "table",
    .reads = {"train", "test", "schema", "privacy-unit", "test-fraction", "test-seed", "test-public"},
    .describe = describe,
    .sizes = sizes,
    .load = load,
    .describe_trained = describe_trained,
    .read_new = read_new,
};

}  // namespace fodp
