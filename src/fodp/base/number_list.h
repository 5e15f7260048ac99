// A list of numbers as the value of an option; in text with commas between them: "0.5,0.4,0.3".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fodp/base/fields.h"

namespace fodp {

struct NumberList {
  std::vector<double> numbers;
};

template <>
struct FieldText<NumberList> {
  static NumberList parse(std::string_view text, std::string_view where, const Range& range);
  static std::string print(const NumberList& list);
  static FieldValue value(const NumberList& list) { return print(list); }
};

}  // namespace fodp
