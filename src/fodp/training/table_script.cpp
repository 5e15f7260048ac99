#include "fodp/training/table_script.h"

#include <cctype>
#include <optional>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// The conversions that mean several others, or the same as another.
std::string_view expanded(char conversion) {
  switch (conversion) {
    case 'F':
      return "%Y-%m-%d";
    case 'T':
      return "%H:%M:%S";
    case 'R':
      return "%H:%M";
    case 'D':
      return "%m/%d/%y";
    case 'e':
      return "%d";
    case 'B':
    case 'h':
      return "%b";
    case 'n':
    case 't':
      return " ";
    default:
      return "";
  }
}

// A format of strptime with nothing in it but spaces, plain characters and the conversions that the script below knows. Nothing for a
// format that has others.
std::optional<std::string> plain_format(const std::string& format) {
  static constexpr std::string_view known = "YymdHMSb%";
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += std::isspace(static_cast<unsigned char>(format[i])) ? ' ' : format[i];
      continue;
    }
    if (++i == format.size()) return std::nullopt;
    const std::string_view whole = expanded(format[i]);
    if (whole.empty() && known.find(format[i]) == known.npos) return std::nullopt;
    out += whole.empty() ? std::string{'%', format[i]} : std::string(whole);
  }
  return out;
}

// Numbers as std::from_chars reads them: no plus sign, no spaces, no hexadecimal digits, no inf. `float` reads more.
constexpr char kNumbers[] = R"(
def is_digit(self, text: str, i: int) -> bool:
    return i < len(text) and "0" <= text[i] and text[i] <= "9"

def is_number(self, text: str) -> bool:
    i = 0
    digits = 0
    if text.startswith("-"):
        i = 1
    while self.is_digit(text, i):
        i += 1
        digits += 1
    if i < len(text) and text[i] == ".":
        i += 1
        while self.is_digit(text, i):
            i += 1
            digits += 1
    if digits == 0:
        return False
    if i < len(text) and (text[i] == "e" or text[i] == "E"):
        i += 1
        if i < len(text) and (text[i] == "+" or text[i] == "-"):
            i += 1
        if not self.is_digit(text, i):
            return False
        while self.is_digit(text, i):
            i += 1
    return i == len(text)

def scaled(self, column: int, value: float) -> float:
    low = self.low[column]
    high = self.high[column]
    inside = max(low, min(high, value))
    if self.log[column]:
        return 2. * (torch.log1p(inside - low) / torch.log1p(high - low)) - 1.
    return 2. * ((inside / 2. - low / 2.) / (high / 2. - low / 2.)) - 1.
)";

// Dates as strptime of glibc reads them: numbers may have fewer digits and spaces before them, names of months are English, whole or three
// letters, and a day that a month does not have is a day of the next one. The result is in seconds since 1970, or NaN.
constexpr char kDates[] = R"(
def month_named(self, text: str, i: int) -> Tuple[int, int]:
    names = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
    for month in range(len(names)):
        name = names[month]
        if text[i:i + len(name)].lower() == name:
            return month + 1, len(name)
        if text[i:i + 3].lower() == name[0:3]:
            return month + 1, 3
    return 0, 0

def range_of(self, conversion: str) -> Tuple[int, int, int]:
    if conversion == "Y":
        return 0, 9999, 4
    if conversion == "y":
        return 0, 99, 2
    if conversion == "m":
        return 1, 12, 2
    if conversion == "d":
        return 1, 31, 2
    if conversion == "H":
        return 0, 23, 2
    if conversion == "M":
        return 0, 59, 2
    return 0, 61, 2

def seconds_of(self, part: Dict[str, int]) -> float:
    month = part["m"]
    year = part["Y"]
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + part["d"] - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    return float(days * 86400 + part["H"] * 3600 + part["M"] * 60 + part["S"])

def date(self, text: str, format: str) -> float:
    part = {"Y": 1900, "m": 1, "d": 1, "H": 0, "M": 0, "S": 0}
    i = 0
    f = 0
    while f < len(format):
        expected = format[f]
        f += 1
        if expected == " ":
            while i < len(text) and (" \t\n\f\v".find(text[i]) >= 0 or ord(text[i]) == 13):
                i += 1
            continue
        conversion = ""
        if expected == "%":
            conversion = format[f]
            f += 1
        if conversion == "" or conversion == "%":
            if i >= len(text) or text[i] != expected:
                return float("nan")
            i += 1
        elif conversion == "b":
            month, length = self.month_named(text, i)
            if month == 0:
                return float("nan")
            part["m"] = month
            i += length
        else:
            low, high, digits = self.range_of(conversion)
            while i < len(text) and text[i] == " ":
                i += 1
            if not self.is_digit(text, i):
                return float("nan")
            value = int(text[i])
            i += 1
            digits -= 1
            while digits > 0 and value * 10 <= high and self.is_digit(text, i):
                value = value * 10 + int(text[i])
                i += 1
                digits -= 1
            if value < low or value > high:
                return float("nan")
            if conversion == "y":
                conversion = "Y"
                value += 1900 if value >= 69 else 2000
            part[conversion] = value
    if i < len(text):
        return float("nan")
    return self.seconds_of(part)
)";

// A cell becomes one number that is not 0, at one place of its column's inputs. Kinds: 0 a number, 1 a category, 2 a date.
constexpr char kColumns[] = R"(
def expected(self, column: int, row: int, what: str) -> str:
    return "row " + str(row + 1) + ": column '" + self.columns[column] + "': expected " + what

def cell(self, column: int, given: str, row: int) -> Tuple[int, float]:
    text = given
    if self.kind[column] == 1 and text in self.values[column]:
        return self.values[column][text], 1.
    text = text.strip(" \t")
    if self.kind[column] == 1 and text in self.values[column]:
        return self.values[column][text], 1.
    if text == self.missing:
        assert self.may_be_missing[column], self.expected(column, row, "a value: there is none")
        return self.width[column] - 1, 1.
    if self.kind[column] == 1:
        return len(self.values[column]), 1.
    if self.kind[column] == 2:
        seconds = self.date(text, self.format[column])
        assert not torch.isnan(seconds), self.expected(column, row, "a date of the format " + self.written_format[column])
        return 0, self.scaled(column, seconds)
    assert self.is_number(text), self.expected(column, row, "a finite number")
    return 0, self.scaled(column, float(text))

def column_inputs(self, column: int, texts: List[str]) -> Tensor:
    places: List[int] = []
    values: List[float] = []
    for row in range(len(texts)):
        place, value = self.cell(column, texts[row], row)
        places.append(place)
        values.append(value)
    at = torch.reshape(torch.tensor(places, dtype=4), [len(texts), 1])
    what = torch.reshape(torch.tensor(values, dtype=6), [len(texts), 1])
    return torch.scatter(torch.zeros([len(texts), self.width[column]], dtype=6), 1, at, what)

def inputs(self, columns: Dict[str, List[str]]) -> Tensor:
    rows = -1
    for name in columns.keys():
        assert name in self.columns or name in self.other_columns, "the schema does not know the column '" + name + "'"
        if rows < 0:
            rows = len(columns[name])
        assert len(columns[name]) == rows, "column '" + name + "' has " + str(len(columns[name])) + " rows, others have " + str(rows)
    parts: List[Tensor] = []
    for column in range(len(self.columns)):
        name = self.columns[column]
        assert name in columns, "there is no column '" + name + "', which the schema has"
        parts.append(self.column_inputs(column, columns[name]))
    return torch.cat(parts, 1)
)";

// The columns of the schema in the lists that the script reads.
struct ColumnLists {
  c10::List<std::string> names, other_names, formats, written_formats;
  c10::List<std::int64_t> kinds, widths;
  c10::List<double> low, high;
  c10::List<bool> log, may_be_missing;
  c10::List<c10::Dict<std::string, std::int64_t>> values;

  void add(const Column& column) {
    names.push_back(column.name);
    kinds.push_back(column.kind == ColumnKind::category ? 1 : column.kind == ColumnKind::date ? 2 : 0);
    widths.push_back(column.inputs());
    low.push_back(column.low);
    high.push_back(column.high);
    log.push_back(column.log);
    may_be_missing.push_back(column.if_missing == IfMissing::indicator);
    formats.push_back(plain_format(column.format).value());
    written_formats.push_back(column.format);
    c10::Dict<std::string, std::int64_t> numbers;
    for (std::size_t i = 0; i < column.values.size(); ++i) numbers.insert(column.values[i], static_cast<std::int64_t>(i));
    values.push_back(numbers);
  }
};

}  // namespace

void check_table_can_be_scripted(const Schema& schema, const std::string& where) {
  for (const Column& column : schema.columns)
    check_input(
        column.kind != ColumnKind::date || plain_format(column.format),
        "{}: column '{}' has dates of the format {}, which a TorchScript file cannot read: it knows %Y %y %m %d %e %b %B %H %M %S %F "
        "%T %R %D and %%",
        where, column.name, column.format);
}

void add_table_inputs(torch::jit::Module& module, const Schema& schema) {
  check_table_can_be_scripted(schema, "schema");
  ColumnLists lists;
  for (const Column& column : schema.columns) {
    if (column.is_input())
      lists.add(column);
    else
      lists.other_names.push_back(column.name);
  }
  const auto add = [&](const char* name, const at::IValue& value) { module.register_attribute(name, value.type(), value); };
  add("columns", lists.names);
  add("other_columns", lists.other_names);
  add("kind", lists.kinds);
  add("width", lists.widths);
  add("low", lists.low);
  add("high", lists.high);
  add("log", lists.log);
  add("may_be_missing", lists.may_be_missing);
  add("format", lists.formats);
  add("written_format", lists.written_formats);
  add("values", lists.values);
  add("missing", schema.missing);
  for (const char* part : {kNumbers, kDates, kColumns}) module.define(part);
}

}  // namespace fodp
