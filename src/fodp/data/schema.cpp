#include "fodp/data/schema.h"

#include <ctime>

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/ranges.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::size_t kMostColumns = 100000, kMostValues = 100000;

void check_bounds(const Column& column, const std::string& where) {
  check_input(std::isfinite(column.low) && std::isfinite(column.high) && column.low < column.high,
              "{}: needs low and high, with low below high: the bounds that values are clipped to", where);
  const double width = column.log ? std::log1p(column.high - column.low) : column.high / 2 - column.low / 2;
  check_input(std::isnormal(width), "{}: low and high are too near to each other or too far apart for numbers of 64 bits", where);
}

void check_values(const Column& column, const std::string& where) {
  check_input(column.values.size() <= kMostValues, "{}: {} values: at most {}", where, column.values.size(), kMostValues);
  std::set<std::string_view> seen;
  for (const std::string& value : column.values)
    check_input(seen.insert(value).second, "{}: the value '{}' stands there twice", where, value);
}

void check_column(const Column& column, const std::string& where) {
  check_values(column, where);
  switch (column.kind) {
    case ColumnKind::number:
      return check_bounds(column, where);
    case ColumnKind::date:
      check_input(!column.format.empty(), "{}: a date needs a format, such as \"%Y-%m-%d\"", where);
      return check_bounds(column, where);
    case ColumnKind::category:
      return check_input(!column.values.empty(), "{}: a category needs values: the texts that it may have", where);
    case ColumnKind::label:
      if (column.values.empty()) return check_bounds(column, where);
      return check_input(column.values.size() >= 2, "{}: a label needs at least two classes", where);
    case ColumnKind::ignore:
    case ColumnKind::unit:
      return;
  }
}

}  // namespace

std::int64_t Column::inputs() const {
  if (!is_input()) return 0;
  const std::int64_t own = kind == ColumnKind::category ? static_cast<std::int64_t>(values.size()) + 1 : 1;
  return own + (if_missing == IfMissing::indicator ? 1 : 0);
}

void Schema::check(const std::string& where) const {
  check_input(csv.separator != '"' && csv.separator != '\n' && csv.separator != '\r' && csv.separator != '\0',
              "{}: separator: a quote or a line break cannot be one", where);
  check_input(!columns.empty(), "{}: has no columns: a section [columns.NAME] for each", where);
  check_input(columns.size() <= kMostColumns, "{}: {} columns: at most {}", where, columns.size(), kMostColumns);
  std::set<std::string_view> names;
  for (const Column& column : columns) {
    check_input(names.insert(column.name).second, "{}: two columns are called '{}'", where, column.name);
    check_column(column, fmt::format("{}: columns.{}", where, column.name));
  }
  const auto count = [&](ColumnKind kind) { return std::ranges::count(columns, kind, &Column::kind); };
  check_input(count(ColumnKind::label) == 1, "{}: {} columns have kind = \"label\": exactly one must", where, count(ColumnKind::label));
  check_input(count(ColumnKind::unit) <= 1, "{}: {} columns have kind = \"unit\": at most one may", where, count(ColumnKind::unit));
  check_input(!unit() || unit()->name != "row",
              "{}: the unit is a column called 'row', which is what reports call a unit that is each row by itself: give it another name",
              where);
  check_input(inputs() > 0, "{}: no column is an input: there is nothing to predict from", where);
  check_input(rows_per_unit >= 1 && rows_per_unit <= 1024, "{}: rows-per-unit is {}: must be in [1, 1024]", where, rows_per_unit);
  check_input(rows_per_unit == 1 || unit(), "{}: rows-per-unit is for a table with a unit: name its column here, too (privacy-unit)",
              where);
}

const Column& Schema::label() const { return *std::ranges::find(columns, ColumnKind::label, &Column::kind); }

const Column* Schema::unit() const {
  const auto found = std::ranges::find(columns, ColumnKind::unit, &Column::kind);
  return found == columns.end() ? nullptr : &*found;
}

std::int64_t Schema::inputs() const {
  std::int64_t total = 0;
  for (const Column& column : columns) total += column.inputs();
  return total;
}

Schema with_unit(Schema schema, const std::optional<std::string>& name, const std::string& where) {
  if (!name) return schema;
  std::vector<std::string_view> names;
  for (Column& column : schema.columns) {
    names.push_back(column.name);
    if (column.kind == ColumnKind::unit) column.kind = ColumnKind::ignore;
  }
  const auto found = std::ranges::find(schema.columns, *name, &Column::name);
  check_input(found != schema.columns.end(), "{}: there is no column '{}': {}", where, *name, suggestion(*name, names));
  check_input(found->kind != ColumnKind::label, "{}: '{}' is the label", where, *name);
  found->kind = ColumnKind::unit;
  return schema;
}

void check_confirmed(const Schema& schema, const std::string& where) {
  std::vector<std::string_view> open;
  for (const Column& column : schema.columns)
    if (column.from_data && column.kind != ColumnKind::ignore) open.push_back(column.name);
  check_privacy(open.empty(),
                "{}: bounds or values of {} column{} were taken from the data ({}{}), which would tell of its rows: put in what is known "
                "without them (a range that is possible, the categories that there are), then delete the line from_data = true",
                where, open.size(), open.size() == 1 ? "" : "s",
                fmt::join(open.begin(), open.begin() + std::min<std::size_t>(5, open.size()), ", "), open.size() > 5 ? ", ..." : "");
}

std::optional<double> parse_date(const std::string& text, const std::string& format) {
  std::tm parts{};
  parts.tm_mday = 1;
  const char* end = strptime(text.c_str(), format.c_str(), &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(timegm(&parts));
}

}  // namespace fodp
