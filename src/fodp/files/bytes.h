// Numbers and names out of a file that may hold anything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace fodp::files {

// Little-endian, up to 8 bytes.
inline std::uint64_t unsigned_number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

inline std::int64_t signed_number(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const auto unused = static_cast<int>(64 - 8 * bytes.size());
  return static_cast<std::int64_t>(unsigned_number(bytes) << unused) >> unused;
}

// For messages: at most 100 characters, all of them fit for a terminal.
inline std::string printable(std::string_view text) {
  std::string result(text.substr(0, 100));
  std::ranges::replace_if(
      result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

// For messages: the names in a table, with commas between them.
template <class Table>
std::string names_in(const Table& table) {
  std::string names;
  for (const auto& entry : table) names.append(names.empty() ? "" : ", ").append(entry.name);
  return names;
}

}  // namespace fodp::files
