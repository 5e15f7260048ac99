// A schema as TOML.
#include <algorithm>

#include "fodp/base/check.h"
#include "fodp/base/json_text.h"
#include "fodp/base/toml_reader.h"
#include "fodp/base/toml_text.h"
#include "fodp/data/schema.h"

namespace fodp {
namespace {

template <class E>
E read_word(TomlReader& reader, std::string_view key, std::string_view otherwise) {
  return FieldText<E>::parse(reader.text(key).value_or(std::string(otherwise)), reader.where(key), {});
}

double read_date(TomlReader& reader, std::string_view key, const std::string& format) {
  const std::string text = reader.required(key);
  const std::optional<double> date = parse_date(text, format);
  check_input(date.has_value(), "{}: '{}' is not a date of the format {}", reader.where(key), text, format);
  return *date;
}

void read_bounds(TomlReader& reader, Column& column) {
  if (column.kind == ColumnKind::date) {
    column.format = reader.required("format");
    column.low = read_date(reader, "low", column.format);
    column.high = read_date(reader, "high", column.format);
    return;
  }
  const std::optional<double> low = reader.number("low"), high = reader.number("high");
  if (column.kind == ColumnKind::label && !low && !high) return;  // classes
  check_input(low.has_value() && high.has_value(), "{}: is missing: a number needs both of its bounds, low and high",
              reader.where(low ? "high" : "low"));
  column.low = *low, column.high = *high;
}

std::vector<std::string> read_values(TomlReader& reader) {
  std::vector<std::string> values;
  const toml::array* items = reader.array("values");
  if (!items) return values;
  for (const toml::node& item : *items) {
    check_input(item.is_value(), "{}: expected a list of texts, numbers, true or false", reader.where("values"));
    values.push_back(option_text(item, reader.where("values")));
  }
  return values;
}

Column read_column(const std::string& name, TomlReader reader) {
  Column column{.name = name, .kind = read_word<ColumnKind>(reader, "kind", "")};
  const bool label = column.kind == ColumnKind::label;
  const bool bounded = column.kind == ColumnKind::number || column.kind == ColumnKind::date || label;
  if (bounded) read_bounds(reader, column);
  if (column.kind == ColumnKind::number) column.log = reader.truth("log").value_or(false);
  if (column.kind == ColumnKind::category || label) column.values = read_values(reader);
  check_input(!label || column.values.empty() || column.low == column.high,
              "{}: a label has classes (values) or bounds (low, high), not both", reader.where("values"));
  if (label) column.trim = reader.text("trim").value_or("");
  if (column.is_input()) column.if_missing = read_word<IfMissing>(reader, "if_missing", "refuse");
  column.from_data = reader.truth("from_data").value_or(false);
  reader.finish();
  return column;
}

std::vector<Column> read_columns(const toml::table& table, const std::string& file) {
  // toml++ sorts keys; the order of the file is the order of the columns of a table without names.
  std::vector<std::pair<std::string, const toml::node*>> sections;
  for (const auto& [key, node] : table) sections.emplace_back(key.str(), &node);
  std::ranges::stable_sort(sections, {}, [](const auto& item) { return item.second->source().begin.line; });
  std::vector<Column> columns;
  for (const auto& [name, node] : sections) {
    check_input(node->is_table(), "{}: line {}: columns.{}: expected a section [columns.{}]", file, node->source().begin.line, name, name);
    columns.push_back(read_column(name, TomlReader(*node->as_table(), file, "columns." + name)));
  }
  return columns;
}

}  // namespace

Schema schema_from_toml(std::string_view text, const std::string& where) {
  const toml::table all = parse_toml(text, where);
  TomlReader reader(all, where);
  Schema schema;
  schema.header = reader.truth("header").value_or(true);
  const std::string separator = reader.text("separator").value_or(",");
  check_input(separator.size() == 1, "{}: expected one character, such as \",\" or \"\\t\"", reader.where("separator"));
  schema.csv = {separator[0], reader.text("comment").value_or("")};
  schema.missing = reader.text("missing").value_or("");
  schema.rows_per_unit = reader.whole("rows-per-unit").value_or(1);
  const std::optional<std::string> unit = reader.text("privacy-unit");
  if (const toml::table* columns = reader.table("columns")) schema.columns = read_columns(*columns, where);
  if (unit && schema.unit())
    check_input(schema.unit()->name == *unit, "{}: names '{}', and the column '{}' has kind = \"unit\": there is one unit",
                reader.where("privacy-unit"), *unit, schema.unit()->name);
  schema = with_unit(std::move(schema), unit, reader.where("privacy-unit"));
  reader.finish();
  schema.check(where);
  return schema;
}

Schema read_schema(const std::filesystem::path& file) { return schema_from_toml(read_text_file(file, file.string()), file.string()); }

}  // namespace fodp
