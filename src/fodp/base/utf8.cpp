#include "fodp/base/utf8.h"

#include <cstddef>

namespace fodp {

// Texts that are longer than they need be, halves of pairs and what lies beyond the last character are told by the second byte
// (Unicode, table 3-7).
bool is_utf8(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = at(i);
    const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80, most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (length > 1 && (at(i + 1) < least || at(i + 1) > most)) return false;
    for (std::size_t k = 2; k < length; ++k)
      if ((at(i + k) & 0xC0) != 0x80) return false;
    i += length;
  }
  return true;
}

}  // namespace fodp
