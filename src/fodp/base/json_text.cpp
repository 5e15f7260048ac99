#include "fodp/base/json_text.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <system_error>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::uintmax_t kMostBytes = 64 << 20;
constexpr int kMostLevels = 100;

// How deep lists and objects stand in each other at most. Of a text that is not JSON it is any number that is not too small.
int levels(std::string_view text) {
  int now = 0, most = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      most = std::max(most, ++now);
    } else if (!quoted && (c == ']' || c == '}')) {
      --now;
    }
  }
  return most;
}

}  // namespace

std::string read_text_file(const std::filesystem::path& file, std::string_view where) {
  std::error_code error;
  check_input(std::filesystem::is_regular_file(file, error), "{}: not a file that can be read", where);  // to open a pipe would wait
  std::ifstream stream(file, std::ios::binary);
  check_input(stream.good(), "{}: not a file that can be read", where);
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  check_input(!error && size <= kMostBytes, "{}: has {} bytes: at most {} are read", where, size, kMostBytes);
  std::string text(size, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  check_input(stream.gcount() == static_cast<std::streamsize>(size), "{}: ended while it was read", where);
  return text;
}

nlohmann::json parse_json(std::string_view text, std::string_view where) {
  const int deep = levels(text);
  check_input(deep <= kMostLevels, "{}: lists and objects stand {} deep in each other: at most {}", where, deep, kMostLevels);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: not JSON: {}", where, error.what()));
  }
}

}  // namespace fodp
