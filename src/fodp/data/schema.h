// What is public about a table before any of its rows is read: its columns, how each becomes numbers, and the bounds and categories of
// their values. Bounds and categories that are taken from the rows tell of the rows, so that they are stated here (docs/tables.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/data/csv.h"

namespace fodp {

enum class ColumnKind { number, category, date, label, ignore, unit };

template <>
struct EnumNames<ColumnKind> {
  static constexpr std::pair<std::string_view, ColumnKind> values[] = {{"number", ColumnKind::number}, {"category", ColumnKind::category},
                                                                       {"date", ColumnKind::date},     {"label", ColumnKind::label},
                                                                       {"ignore", ColumnKind::ignore}, {"unit", ColumnKind::unit}};
};

// What becomes of a row that has no value in a column: it is an error, or a further input says so (1 where the value is missing, else 0).
enum class IfMissing { refuse, indicator };

template <>
struct EnumNames<IfMissing> {
  static constexpr std::pair<std::string_view, IfMissing> values[] = {{"refuse", IfMissing::refuse}, {"indicator", IfMissing::indicator}};
};

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  double low = 0, high = 0;              // bounds of a number, of a date (seconds since 1970) and of a label that is a number
  bool log = false;                      // a number with a long tail: its logarithm, counted from `low`, is what is scaled
  std::vector<std::string> values = {};  // of a category, where all other texts share one input more; of a label, the classes in order
  std::string format = {};               // of a date, as strptime takes it: "%Y-%m-%d"
  IfMissing if_missing = IfMissing::refuse;
  std::string trim = {};   // characters that are cut off the end of a label
  bool from_data = false;  // some of it was taken from the rows and not confirmed since

  bool is_input() const { return kind == ColumnKind::number || kind == ColumnKind::category || kind == ColumnKind::date; }
  std::int64_t inputs() const;  // how many numbers of a row it becomes
};

struct Schema {
  bool header = true;        // the first row has the names of the columns; without, columns come in the order of the schema
  CsvFormat csv;             // separator and comments
  std::string missing = "";  // the text that stands for no value
  std::vector<Column> columns;
  std::int64_t rows_per_unit = 1;  // the most rows that one unit contributes to a step

  // InputError, which begins with `where`, for a schema that no table can have: two columns of a name, no label or two, bounds that are not
  // finite or not in order, a value that stands in a list twice.
  void check(const std::string& where) const;

  const Column& label() const;  // which check() has seen to
  bool is_regression() const { return label().values.empty(); }
  const Column* unit() const;  // null if each row is by itself
  std::int64_t inputs() const;
};

// Reads a schema from TOML (docs/tables.md says what it may hold). InputError, with file, line and key, for a bad one.
Schema read_schema(const std::filesystem::path& file);
Schema schema_from_toml(std::string_view text, const std::string& where);

// The schema with this column as the unit; as it is if there is no name. InputError, which begins with `where`, if it has no such column.
Schema with_unit(Schema schema, const std::optional<std::string>& name, const std::string& where);

// PrivacyError that names the columns whose bounds or values were taken from the rows and not confirmed since; `where` names the schema.
void check_confirmed(const Schema& schema, const std::string& where);

// Seconds since 1970 (UTC). Nothing if the text is not a date of this format, to its last character.
std::optional<double> parse_date(const std::string& text, const std::string& format);

}  // namespace fodp
