#include "fodp/data/schema_draft.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "fodp/base/utf8.h"
#include "fodp/data/arrow_file.h"
#include "fodp/data/csv.h"
#include "fodp/data/schema.h"

namespace fodp {
namespace {

constexpr std::int64_t kRowsForSeparator = 200;
constexpr std::size_t kMostDistinct = 100;  // of texts that are taken for a category
constexpr std::array<char, 4> kSeparators = {',', ';', '\t', '|'};
constexpr std::array<std::string_view, 9> kMissing = {"", "?", "NA", "N/A", "na", "nan", "NaN", "NULL", "null"};
constexpr std::array<std::string_view, 3> kDates = {"%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S"};
constexpr std::array<std::string_view, 7> kLabels = {"label", "target", "class", "y", "outcome", "income", "response"};

bool is_number(std::string_view text, double* value = nullptr) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (value) *value = number;
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

bool is_missing(std::string_view text) { return std::ranges::find(kMissing, text) != kMissing.end(); }

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 32 || c == 127)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      out += c;
  }
  return out + "\"";
}

// How many fields the first rows have, each number with how often.
std::map<std::size_t, int> field_counts(const std::filesystem::path& file, const CsvFormat& format) {
  std::map<std::size_t, int> counts;
  std::int64_t rows = 0;
  read_csv(file, format, [&](const CsvRow& row) {
    ++counts[row.fields.size()];
    return ++rows < kRowsForSeparator;
  });
  return counts;
}

// The separator by which most of the first rows have equally many fields, more than one.
CsvFormat find_format(const std::filesystem::path& file) {
  CsvFormat best;
  int agreeing = 0;
  std::size_t fields = 1;
  for (const char separator : kSeparators) try {
      for (const auto& [size, rows] : field_counts(file, {separator, ""}))
        if (size > 1 && std::pair(rows, size) > std::pair(agreeing, fields)) best = {separator, ""}, agreeing = rows, fields = size;
    } catch (const InputError&) {
      if (separator == kSeparators.back() && agreeing == 0) throw;
    }
  // A first line that is no row, and begins with a mark, is a comment.
  read_csv(file, best, [&](const CsvRow& row) {
    const std::string_view first = row.fields.empty() ? std::string_view() : row.fields.front();
    if (agreeing > 0 && row.fields.size() != fields && !first.empty() && std::ispunct(static_cast<unsigned char>(first.front())))
      best.comment = std::string(1, first.front());
    return false;
  });
  return best;
}

// What was seen in a column.
struct Seen {
  std::int64_t rows = 0, numbers = 0, missing = 0;
  double least = INFINITY, most = -INFINITY;
  std::set<std::string, std::less<>> texts;  // at most one more than are taken for a category
  bool all_distinct = true;
  std::array<bool, kDates.size()> dates;
  std::string first_date, last_date;
  std::map<std::string, std::int64_t, std::less<>> missing_texts;

  Seen() { dates.fill(true); }

  void add(std::string_view text) {
    ++rows;
    if (is_missing(text)) {
      ++missing;
      ++missing_texts[std::string(text)];
      return;
    }
    double value = 0;
    if (is_number(text, &value)) {
      ++numbers;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (texts.size() <= kMostDistinct && !texts.emplace(text).second) all_distinct = false;
    for (std::size_t i = 0; i < kDates.size(); ++i)
      if (dates[i]) dates[i] = parse_date(std::string(text), std::string(kDates[i])).has_value();
    if (first_date.empty() || text < first_date) first_date = std::string(text);
    if (text > last_date) last_date = std::string(text);
  }

  std::int64_t present() const { return rows - missing; }
  bool is_numeric() const { return present() > 0 && numbers == present(); }
  bool is_category() const { return present() > 0 && texts.size() <= kMostDistinct; }
  // ISO dates sort as texts; of others the bounds cannot be read off so simply, and are left to the user.
  std::optional<std::string_view> date_format() const {
    for (std::size_t i = 0; i < kDates.size(); ++i)
      if (present() > 0 && dates[i]) return kDates[i];
    return std::nullopt;
  }
};

// InputError, which begins with `where`, for names above numbers of which two are the same.
bool looks_like_header(const std::vector<std::string>& first, const std::vector<Seen>& columns, const std::string& where) {
  bool numbers_below = false, new_text = false;
  std::set<std::string> names;
  const std::string* twice = nullptr;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].empty() || is_number(first[i])) return false;
    if (i >= columns.size()) return false;
    if (!names.insert(first[i]).second) twice = &first[i];
    numbers_below = numbers_below || columns[i].is_numeric();
    new_text = new_text || !columns[i].texts.contains(first[i]);
  }
  check_input(!twice || !numbers_below, "{}: two columns are called '{}': give each a name of its own", where, twice ? *twice : "");
  return !twice && (numbers_below || new_text);
}

std::string values_text(const Seen& column) {
  std::vector<std::string> values;
  for (const std::string& text : column.texts)
    if (is_utf8(text)) values.push_back(toml_text(text));
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string input_text(const Seen& column) {
  const std::string missing = column.missing > 0 ? "if_missing = \"indicator\"\n" : "";
  if (column.is_numeric()) {
    const bool tail = column.least >= 0 && column.most > 1000 * std::max(1.0, column.least);
    return fmt::format("kind = \"number\"\nlow = {}\nhigh = {}\n{}{}from_data = true\n", number_text(column.least),
                       number_text(column.most > column.least ? column.most : column.least + 1),
                       tail ? "log = true    # values spread over several orders of magnitude\n" : "", missing);
  }
  if (const auto format = column.date_format())
    return fmt::format("kind = \"date\"\nformat = {}\nlow = {}\nhigh = {}\n{}from_data = true\n", toml_text(*format),
                       toml_text(column.first_date), toml_text(column.last_date), missing);
  if (column.is_category() && !(column.all_distinct && column.rows > 1))
    return fmt::format("kind = \"category\"\nvalues = {}\n{}from_data = true\n", values_text(column), missing);
  return "kind = \"ignore\"    # more than 100 different texts; if it says whose row it is: kind = \"unit\"\n";
}

std::string label_text(const Seen& column) {
  const bool classes = column.texts.size() <= (column.is_numeric() ? 10 : kMostDistinct);
  if (classes) return fmt::format("kind = \"label\"\nvalues = {}    # the classes, in order\nfrom_data = true\n", values_text(column));
  if (!column.is_numeric())
    return "kind = \"label\"    # more than 100 different texts: if it is what to predict, list its values, the classes in "
           "order\nfrom_data = true\n";
  return fmt::format("kind = \"label\"\nlow = {}\nhigh = {}\nfrom_data = true\n", number_text(column.least), number_text(column.most));
}

// The column that has the name of a label, or the last one.
std::size_t find_label(const std::vector<std::string>& names) {
  std::size_t label = names.size() - 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string lower = names[i];
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (std::ranges::find(kLabels, lower) != kLabels.end()) label = i;
  }
  return label;
}

}  // namespace

std::string draft_schema(const std::filesystem::path& file) {
  const bool is_text = table_format(file) == TableFormat::text;
  const CsvFormat format = is_text ? find_format(file) : CsvFormat();
  std::vector<Seen> columns;
  std::vector<std::string> first;
  std::int64_t rows = 0;
  const auto take = [&](const CsvRow& row) {
    if (rows++ == 0) {
      first.assign(row.fields.begin(), row.fields.end());
      columns.resize(row.fields.size());
      return true;
    }
    check_input(row.fields.size() == columns.size(), "{}: line {}: {} fields, and the first row has {}", file.string(), row.line,
                row.fields.size(), columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(row.fields[i]);
    return true;
  };
  if (is_text)
    read_csv(file, format, take);
  else
    read_arrow(file, {.leave_out_unreadable = true}, take);
  check_input(rows > 0 && !columns.empty(), "{}: has no rows", file.string());
  const bool header = looks_like_header(first, columns, file.string()) || !is_text;
  if (!header)
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(first[i]);
  check_input(columns.front().rows > 0, "{}: has no rows after its header", file.string());

  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i) names.push_back(header && is_utf8(first[i]) ? first[i] : fmt::format("c{}", i + 1));
  const std::size_t label = find_label(names);
  std::map<std::string, std::int64_t, std::less<>> missing;
  for (const Seen& column : columns)
    for (const auto& [text, count] : column.missing_texts) missing[text] += count;
  const auto most = std::ranges::max_element(missing, {}, [](const auto& item) { return item.second; });

  std::string text = fmt::format(
      "# A draft for {}, made by looking at its rows. Bounds and values that come from rows tell of the rows:\n"
      "# put in what is known without them (an age is 0 to 120; the categories that there are), widen what is narrow, then delete the\n"
      "# line from_data = true of each column. Training refuses while one is there. docs/tables.md has all that can stand here.\n",
      file.filename().string());
  if (is_text) text += fmt::format("header = {}\nseparator = {}\n", header, toml_text(std::string(1, format.separator)));
  if (!format.comment.empty()) text += fmt::format("comment = {}\n", toml_text(format.comment));
  if (most != missing.end()) text += fmt::format("missing = {}\n", toml_text(most->first));
  for (std::size_t i = 0; i < columns.size(); ++i)
    text += fmt::format("\n[columns.{}]\n{}", toml_text(names[i]), i == label ? label_text(columns[i]) : input_text(columns[i]));
  return text;
}

}  // namespace fodp
