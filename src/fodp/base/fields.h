// An options struct lists its fields once, each with a name, a member, a help line and an allowed range. Parsing, defaults, help, JSON
// (fields_json.h) and validation follow from that list:
//
//   struct Options {
//     double clip_norm = 1;
//     static auto fields() { return std::tuple{field("clip-norm", &Options::clip_norm, "largest norm of a gradient", above(0))}; }
//   };
//
// Field types: bool, int64, double, string, list of int64, an enum with EnumNames, any type with its own FieldText (such as Schedule), and
// optional of those.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "fodp/base/check.h"

namespace fodp {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;

  bool contains(double value) const;
  std::string text() const;  // "in (0, 1]"
};

Range above(double low);
Range at_least(double low);
Range between(double low, double high);      // closed at both ends
Range above_up_to(double low, double high);  // (low, high]
Range strictly_between(double low, double high);

template <class Options, class Value>
struct Field {
  std::string_view name;  // as on the command line, without the dashes
  Value Options::*member;
  std::string help;
  Range range;
  std::string default_text;  // what stands for an empty optional: "sigma*C*sqrt(d)"
};

template <class Options, class Value>
Field<Options, Value> field(std::string_view name, Value Options::*member, std::string help, Range range = {},
                            std::string default_text = "") {
  return {name, member, std::move(help), range, std::move(default_text)};
}

// The words of an enum: specialise with `static constexpr std::pair<std::string_view, E> values[]`.
template <class E>
struct EnumNames;

template <class E>
std::string_view enum_name(E value) {
  for (const auto& [name, candidate] : EnumNames<E>::values)
    if (candidate == value) return name;
  return "?";
}

// "did you mean 'cifar-10'?" for the nearest of `known`, or a list of them where none is near.
std::string suggestion(std::string_view given, const std::vector<std::string_view>& known);

// The value of a field without its type, as files and help show it. Nothing stands for an option that was left open.
using FieldValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

// Text to value and back. `where` names the option in messages.
template <class T>
struct FieldText;

double parse_number(std::string_view text, std::string_view where, const Range& range);
std::int64_t parse_integer(std::string_view text, std::string_view where, const Range& range);
bool parse_bool(std::string_view text, std::string_view where);

std::string number_text(double value);  // shortest text that reads back as the same number
std::string upper_text(double value);   // six digits, never below the value: for bounds shown to people; "infinite"

template <>
struct FieldText<double> {
  static double parse(std::string_view text, std::string_view where, const Range& range) { return parse_number(text, where, range); }
  static std::string print(double value) { return number_text(value); }
  static FieldValue value(double value) { return value; }
};

template <>
struct FieldText<std::int64_t> {
  static std::int64_t parse(std::string_view text, std::string_view where, const Range& range) { return parse_integer(text, where, range); }
  static std::string print(std::int64_t value) { return std::to_string(value); }
  static FieldValue value(std::int64_t value) { return value; }
};

template <>
struct FieldText<bool> {
  static bool parse(std::string_view text, std::string_view where, const Range&) { return parse_bool(text, where); }
  static std::string print(bool value) { return value ? "true" : "false"; }
  static FieldValue value(bool value) { return value; }
};

template <>
struct FieldText<std::string> {
  static std::string parse(std::string_view text, std::string_view, const Range&) { return std::string(text); }
  static std::string print(const std::string& value) { return value; }
  static FieldValue value(const std::string& value) { return value; }
};

template <>
struct FieldText<std::vector<std::int64_t>> {
  static std::vector<std::int64_t> parse(std::string_view text, std::string_view where, const Range& range);
  static std::string print(const std::vector<std::int64_t>& value);
  static FieldValue value(const std::vector<std::int64_t>& value) { return value; }
};

template <class E>
requires std::is_enum_v<E>
struct FieldText<E> {
  static E parse(std::string_view text, std::string_view where, const Range&) {
    std::vector<std::string_view> known;
    for (const auto& [name, value] : EnumNames<E>::values) {
      if (name == text) return value;
      known.push_back(name);
    }
    throw InputError(fmt::format("{}: '{}' is not known: {}", where, text, suggestion(text, known)));
  }
  static std::string print(E value) { return std::string(enum_name(value)); }
  static FieldValue value(E value) { return std::string(enum_name(value)); }
};

template <class T>
struct FieldText<std::optional<T>> {
  static std::optional<T> parse(std::string_view text, std::string_view where, const Range& range) {
    return FieldText<T>::parse(text, where, range);
  }
  static std::string print(const std::optional<T>& value) { return value ? FieldText<T>::print(*value) : ""; }
  static FieldValue value(const std::optional<T>& value) { return value ? FieldText<T>::value(*value) : FieldValue(); }
};

// f(field, value) for every field of `options`.
template <class Options, class F>
void for_each_field(Options& options, F&& f) {
  std::apply([&](const auto&... fields) { (f(fields, options.*fields.member), ...); }, std::remove_const_t<Options>::fields());
}

template <class T>
constexpr bool is_numeric_field = std::same_as<T, double> || std::same_as<T, std::int64_t>;

// Throws InputError for the first number out of its range: for structs filled in code rather than parsed.
template <class Options>
void validate_fields(const Options& options) {
  auto check_number = [](const auto& field, double value) {
    check_input(field.range.contains(value), "{} is {}: must be {}", field.name, number_text(value), field.range.text());
  };
  auto check_value = [&](const auto& field, const auto& value) {
    if constexpr (is_numeric_field<std::remove_cvref_t<decltype(value)>>)
      check_number(field, static_cast<double>(value));
    else if constexpr (requires { value.values(); })  // a Schedule
      for (double number : value.values()) check_number(field, number);
  };
  for_each_field(options, [&](const auto& field, const auto& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) check_value(field, *value);
    } else {
      check_value(field, value);
    }
  });
}

// A field's name as files write it, with underscores: "clip_norm".
std::string json_name(std::string_view field_name);

}  // namespace fodp
