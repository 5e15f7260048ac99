#include "fodp/base/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace fodp {

bool Range::contains(double value) const {
  if (std::isnan(value)) return false;
  const bool above_low = low_open ? value > low : value >= low;
  const bool below_high = high_open ? value < high : value <= high;
  return above_low && below_high;
}

std::string Range::text() const {
  if (std::isinf(low) && std::isinf(high)) return high_open ? "finite" : "a number";
  if (std::isinf(high)) return fmt::format("{} {}", low_open ? "above" : "at least", number_text(low));
  if (std::isinf(low)) return fmt::format("{} {}", high_open ? "below" : "at most", number_text(high));
  return fmt::format("in {}{}, {}{}", low_open ? '(' : '[', number_text(low), number_text(high), high_open ? ')' : ']');
}

// Every range excludes infinity at an end that is not bounded: no option takes it.
Range above(double low) { return {.low = low, .low_open = true, .high_open = true}; }
Range at_least(double low) { return {.low = low, .high_open = true}; }
Range between(double low, double high) { return {.low = low, .high = high}; }
Range above_up_to(double low, double high) { return {.low = low, .high = high, .low_open = true}; }
Range strictly_between(double low, double high) { return {.low = low, .high = high, .low_open = true, .high_open = true}; }

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::string suggestion(std::string_view given, const std::vector<std::string_view>& known) {
  const std::string word = lower(given);
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, given.size() / 3) + 1;
  for (std::string_view candidate : known) {
    const std::string name = lower(candidate);
    const bool starts = word.size() >= 3 && name.starts_with(word);
    const std::size_t distance = name == word ? 0 : starts ? 1 : edit_distance(word, name);
    if (distance < least) least = distance, nearest = candidate;
  }
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  std::string list;
  for (std::string_view candidate : known) list += (list.empty() ? "" : ", ") + std::string(candidate);
  return "known are " + list;
}

double parse_number(std::string_view text, std::string_view where, const Range& range) {
  double value = 0;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    throw InputError(fmt::format("{}: '{}' is too large or too small for a number; must be {}", where, text, range.text()));
  check_input(error == std::errc() && end == digits.data() + digits.size(), "{}: '{}' is not a number; must be {}", where, text,
              range.text());
  check_input(range.contains(value), "{}: {} is not allowed; must be {}", where, text, range.text());
  return value;
}

std::int64_t parse_integer(std::string_view text, std::string_view where, const Range& range) {
  // 1e5 and 6250.0 are whole numbers too.
  const double value = parse_number(text, where, range);
  check_input(value == std::floor(value) && std::abs(value) <= 9007199254740992.0, "{}: '{}' is not a whole number up to 2^53; must be {}",
              where, text, range.text());
  return static_cast<std::int64_t>(value);
}

bool parse_bool(std::string_view text, std::string_view where) {
  if (text == "true" || text == "1" || text.empty()) return true;
  if (text == "false" || text == "0") return false;
  throw InputError(fmt::format("{}: '{}' is neither true nor false", where, text));
}

std::string number_text(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

std::string upper_text(double value) {
  if (std::isinf(value)) return "infinite";
  std::string text = fmt::format("{:.6g}", value);
  if (std::strtod(text.c_str(), nullptr) < value)
    text = fmt::format("{:.6g}", std::strtod(text.c_str(), nullptr) + std::pow(10, std::floor(std::log10(value)) - 5));
  return text;
}

std::vector<std::int64_t> FieldText<std::vector<std::int64_t>>::parse(std::string_view text, std::string_view where, const Range& range) {
  std::vector<std::int64_t> values;
  if (text.empty()) return values;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    values.push_back(parse_integer(text.substr(0, comma), where, range));
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  return values;
}

std::string FieldText<std::vector<std::int64_t>>::print(const std::vector<std::int64_t>& value) {
  std::string text;
  for (std::int64_t item : value) text += (text.empty() ? "" : ",") + std::to_string(item);
  return text;
}

std::string json_name(std::string_view field_name) {
  std::string name(field_name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace fodp
