// An option that is left to the program unless it is given: `auto`, or nothing at all, stands for the program's own choice.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fodp/base/fields.h"

namespace fodp {

template <class T>
struct Automatic : std::optional<T> {
  using std::optional<T>::optional;
};

inline constexpr std::string_view kAutomatic = "auto";

template <class T>
struct FieldText<Automatic<T>> {
  static Automatic<T> parse(std::string_view text, std::string_view where, const Range& range) {
    return text == kAutomatic ? Automatic<T>() : Automatic<T>(FieldText<T>::parse(text, where, range));
  }
  static std::string print(const Automatic<T>& value) { return value ? FieldText<T>::print(*value) : std::string(kAutomatic); }
  static FieldValue value(const Automatic<T>& value) { return value ? FieldText<T>::value(*value) : FieldValue(); }
};

}  // namespace fodp
