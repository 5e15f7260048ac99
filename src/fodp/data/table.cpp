#include "fodp/data/table.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include <ATen/ops/empty.h>

#include "fodp/base/check.h"
#include "fodp/data/arrow_file.h"

namespace fodp {
namespace {

constexpr std::size_t kChunkRows = 1 << 16;
constexpr std::string_view kNumber = "a finite number, such as -1.5 or 2e3";
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Numbers = std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>>;

Numbers numbered(const std::vector<std::string>& values) {
  Numbers numbers;
  for (std::size_t i = 0; i < values.size(); ++i) numbers.emplace(values[i], static_cast<std::int64_t>(i));
  return numbers;
}

// A plus sign and a comma for the decimal point are no part of a number.
std::optional<double> parse_plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

std::string_view trimmed(std::string_view text, const std::string& cut) {
  const std::size_t last = text.find_last_not_of(cut);
  return cut.empty() ? text : text.substr(0, last == text.npos ? 0 : last + 1);
}

// Names come from files: what could disturb a terminal is left out.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return text.size() > 60 ? out + "..." : out;
}

}  // namespace

double scaled(const Column& column, double value) {
  const double inside = std::clamp(value, column.low, column.high);
  const double share = column.log ? std::log1p(inside - column.low) / std::log1p(column.high - column.low)
                                  : (inside / 2 - column.low / 2) / (column.high / 2 - column.low / 2);  // halves: no overflow
  return 2 * share - 1;
}

double unscaled(const Column& column, double value) { return column.low + (value + 1) * (column.high / 2 - column.low / 2); }

double memory_of_this_machine() { return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)); }

TableRows::TableRows(Schema schema, double most_bytes) : schema_(std::move(schema)), most_bytes_(most_bytes), inputs_(schema_.inputs()) {
  schema_.check("schema");
  for (std::size_t i = 0; i < schema_.columns.size(); ++i)
    if (schema_.columns[i].is_input()) used_.push_back(i);
}

Target TableRows::target() const {
  if (schema_.is_regression()) return {Target::Kind::number, 0, {{}, at::kFloat}};
  return {Target::Kind::classes, static_cast<std::int64_t>(schema_.label().values.size()), {{}, at::kLong}};
}

// One file while it is read: where its fields go, and where it stands.
class TableRows::FileReader {
 public:
  FileReader(TableRows& table, const std::filesystem::path& file, TableUse use)
      : table_(table),
        schema_(table.schema_),
        name_(file.string()),
        use_(use),
        is_text_(table_format(file) == TableFormat::text),
        classes_(numbered(schema_.label().values)) {
    for (const Column& column : schema_.columns) categories_.push_back(numbered(column.values));
    for (std::size_t i = 0; i < table.unit_names_.size(); ++i) units_.emplace(table.unit_names_[i], static_cast<std::int64_t>(i));
  }

  void read(const std::filesystem::path& file, Sha256* contents) {
    const auto take = [&](const CsvRow& row) {
      if (has_names() && fields_ == 0)
        place_by_name(row);
      else
        add(row);
      return true;
    };
    if (is_text_)
      read_csv(file, schema_.csv, take, contents);
    else
      read_arrow(file, arrow_texts(), take, contents);
    check_input(rows_ > 0, "{}: has no rows{}", name_, is_text_ && schema_.header ? " after its header" : "");
  }

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;

  bool labelled() const { return use_ != TableUse::predict; }
  bool has_names() const { return schema_.header || !is_text_; }

  // Where a row stands, for messages. The names of the columns of a file that is no text are row 0.
  std::string at(const CsvRow& row) const {
    if (is_text_) return fmt::format("line {}", row.line);
    return row.line == 0 ? "its columns" : fmt::format("row {}", row.line);
  }

  ArrowTexts arrow_texts() const {
    return {.missing = schema_.missing, .column = [this](std::string_view name) {
              const auto column = std::ranges::find(schema_.columns, name, &Column::name);
              if (column == schema_.columns.end()) return ArrowColumn{};
              const bool label = column->kind == ColumnKind::label && labelled(), unit = column->kind == ColumnKind::unit;
              return ArrowColumn{column->is_input() || label || (unit && use_ == TableUse::train), column->format};
            }};
  }

  void place_by_order() {
    const bool with_label = labelled() || fields_ != schema_.columns.size() - 1;
    std::size_t next = 0;
    for (const Column& column : schema_.columns) places_.push_back(column.kind == ColumnKind::label && !with_label ? kNowhere : next++);
  }

  void place_by_name(const CsvRow& header) {
    std::unordered_map<std::string_view, std::size_t> found;
    for (std::size_t i = 0; i < header.fields.size(); ++i)
      check_input(found.emplace(header.fields[i], i).second, "{}: {}: two columns are called '{}'", name_, at(header),
                  printable(header.fields[i]));
    for (const Column& column : schema_.columns) {
      const auto place = found.find(column.name);
      const bool needed = column.is_input() || (column.kind == ColumnKind::label && labelled()) ||
                          (column.kind == ColumnKind::unit && use_ == TableUse::train);
      check_input(place != found.end() || !needed,
                  "{}: {}: there is no column '{}', which the schema has: is it the schema of another file{}?", name_, at(header),
                  column.name, is_text_ ? ", or has the file another separator, or no header (header = false)" : "");
      places_.push_back(place == found.end() ? kNowhere : place->second);
      if (place != found.end()) found.erase(place);
    }
    for (const std::string_view name : header.fields)
      check_input(!found.contains(name),
                  "{}: {}: the schema does not know the column '{}': add it, with kind = \"ignore\" if it is not used", name_, at(header),
                  printable(name));
    fields_ = header.fields.size();
  }

  void add(const CsvRow& row) {
    if (fields_ == 0) {  // without a header, the first row tells whether there is a label where there need not be one
      fields_ = row.fields.size();
      place_by_order();
    }
    const std::size_t expected = has_names() ? fields_ : schema_.columns.size() - (std::ranges::count(places_, kNowhere) > 0 ? 1 : 0);
    if (row.fields.size() != expected)
      throw InputError(
          fmt::format("{}: {}: {} field{}, expected {}", name_, at(row), row.fields.size(), row.fields.size() == 1 ? "" : "s", expected));
    if (table_.labels_.size() % kChunkRows == 0) table_.check_memory(name_);
    for (const std::size_t column : table_.used_) table_.add_cell(cell(row, column));
    table_.labels_.push_back(labelled() ? label(row) : 0);
    if (use_ == TableUse::train) add_unit(row);
    if (table_.holding_out_) table_.held_out_.push_back(is_held_out(row));
    ++rows_;
  }

  [[noreturn]] void refuse(const CsvRow& row, const Column& column, std::string_view expected) const {
    throw InputError(fmt::format("{}: {}: column '{}': expected {}", name_, at(row), printable(column.name), expected));
  }

  float cell(const CsvRow& row, std::size_t index) const {
    const Column& column = schema_.columns[index];
    const std::string_view text = row.fields[places_[index]];
    if (column.kind == ColumnKind::category) {  // whose values may be the text that else stands for none
      const auto found = categories_[index].find(text);
      if (found != categories_[index].end()) return static_cast<float>(found->second);
    }
    if (text == schema_.missing) {
      if (column.if_missing == IfMissing::indicator) return kMissing;
      refuse(row, column, "a value: there is none (to allow that, put if_missing = \"indicator\" into its section of the schema)");
    }
    if (column.kind == ColumnKind::category) return static_cast<float>(column.values.size());
    if (column.kind == ColumnKind::date) {
      const std::optional<double> date = parse_date(std::string(text), column.format);
      if (!date) refuse(row, column, fmt::format("a date of the format {}", column.format));
      return static_cast<float>(scaled(column, *date));
    }
    const std::optional<double> number = parse_plain_number(text);
    if (!number) refuse(row, column, kNumber);
    return static_cast<float>(scaled(column, *number));
  }

  float label(const CsvRow& row) const {
    const Column& column = schema_.label();
    const std::string_view text = trimmed(row.fields[places_[static_cast<std::size_t>(&column - schema_.columns.data())]], column.trim);
    if (schema_.is_regression()) {
      const std::optional<double> number = parse_plain_number(text);
      if (!number) refuse(row, column, kNumber);
      return static_cast<float>(scaled(column, *number));
    }
    const auto found = classes_.find(text);
    if (found == classes_.end()) refuse(row, column, fmt::format("one of the {} classes of the schema", classes_.size()));
    return static_cast<float>(found->second);
  }

  void add_unit(const CsvRow& row) {
    const Column* unit = schema_.unit();
    if (!unit) return;
    const std::string_view text = row.fields[places_[static_cast<std::size_t>(unit - schema_.columns.data())]];
    // Rows of nobody in particular would be one unit, of which each person is a part.
    if (text.empty() || text == schema_.missing) refuse(row, *unit, "the unit that the row belongs to: there is no value");
    auto found = units_.find(text);
    if (found == units_.end()) {
      found = units_.emplace(std::string(text), static_cast<std::int64_t>(units_.size())).first;
      table_.unit_names_.emplace_back(text);
    }
    table_.units_.push_back(found->second);
  }

  bool is_held_out(const CsvRow& row) {
    Sha256 hash = table_.holding_out_->start();
    const Column* unit = schema_.unit();
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      if (unit && i != places_[static_cast<std::size_t>(unit - schema_.columns.data())]) continue;
      hash.add(fmt::format(",{}:", row.fields[i].size())).add(row.fields[i]);
    }
    return unit ? table_.holding_out_->unit_is_held_out(hash) : table_.holding_out_->row_is_held_out(hash);
  }

  TableRows& table_;
  const Schema& schema_;
  std::string name_;
  TableUse use_;
  bool is_text_;  // CSV and the like, not Parquet or Arrow
  Numbers classes_, units_;
  std::vector<Numbers> categories_;
  std::vector<std::size_t> places_;  // of each column of the schema in a row of the file
  std::size_t fields_ = 0;
  std::int64_t rows_ = 0;
};

void TableRows::add_file(const std::filesystem::path& file, TableUse use, Sha256* contents) {
  FileReader(*this, file, use).read(file, contents);
}

void TableRows::hold_out(double fraction, std::uint64_t seed) {
  check_input(fraction > 0 && fraction < 1 && count() == 0, "rows are held out from the first one on, and a fraction of them in (0, 1)");
  holding_out_.emplace(fraction, seed);
}

void TableRows::end_of_files() {
  if (holding_out_) holding_out_->end_of_rows();
}

void TableRows::add_cell(float value) {
  const std::size_t size = kChunkRows * used_.size();
  if (chunks_.empty() || chunks_.back().size() == size) {
    const bool large = !chunks_.empty();  // a small table takes as much as it has
    chunks_.emplace_back().reserve(large ? size : 0);
  }
  chunks_.back().push_back(value);
}

// What rows take beside their cells is counted generously: labels, units and lists of rows, which are twice as long while they grow.
void TableRows::check_memory(const std::string& file) const {
  constexpr double kBesideCells = 32, kUnit = 200;
  const double bytes = static_cast<double>(count()) * (static_cast<double>(used_.size() * sizeof(float)) + kBesideCells) +
                       static_cast<double>(unit_names_.size()) * kUnit;
  check_input(bytes <= most_bytes_, "{}: its rows take more memory than there is ({:.3g} bytes): is it the file that it should be?", file,
              most_bytes_);
}

std::span<const float> TableRows::cells(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  return std::span(chunks_[at / kChunkRows]).subspan(at % kChunkRows * used_.size(), used_.size());
}

void TableRows::fill(std::int64_t row, float* out) const {
  const std::span<const float> cells = this->cells(row);
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const Column& column = schema_.columns[used_[i]];
    const std::int64_t width = column.inputs();
    const bool missing = std::isnan(cells[i]);
    std::fill_n(out, width, 0.0f);
    if (missing)
      out[width - 1] = 1;
    else if (column.kind == ColumnKind::category)
      out[static_cast<std::int64_t>(cells[i])] = 1;
    else
      out[0] = cells[i];
    out += width;
  }
}

Batch TableRows::gather(std::span<const std::int64_t> rows) const {
  const auto size = static_cast<std::int64_t>(rows.size());
  at::Tensor inputs = at::empty({size, inputs_}, at::kFloat);
  at::Tensor targets = at::empty({size}, schema_.is_regression() ? at::kFloat : at::kLong);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    check_input(row >= 0 && row < count(), "row {}: must be in [0, {}]", row, count() - 1);
    fill(row, inputs.data_ptr<float>() + i * inputs_);
    const float label = labels_[static_cast<std::size_t>(row)];
    if (schema_.is_regression())
      targets.data_ptr<float>()[i] = label;
    else
      targets.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(label);
  }
  return {inputs, targets};
}

}  // namespace fodp
