#include "fodp/base/number_list.h"

#include <algorithm>

namespace fodp {

NumberList FieldText<NumberList>::parse(std::string_view text, std::string_view where, const Range& range) {
  NumberList list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view one = text.substr(begin, end - begin);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    list.numbers.push_back(parse_number(one, where, range));
    begin = end + 1;
  }
  return list;
}

std::string FieldText<NumberList>::print(const NumberList& list) {
  std::string text;
  for (const double number : list.numbers) text += (text.empty() ? "" : ",") + number_text(number);
  return text;
}

}  // namespace fodp
