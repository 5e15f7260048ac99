#include "text.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/core.h>

namespace fodp::app {
namespace {

constexpr std::size_t kUsualWidth = 100, kLeastWidth = 40;

// Where the parts that are broken off this line begin.
struct Hanging {
  std::size_t first = 0, column = 0;  // of the first word; of the word after the gap, if there is one

  explicit Hanging(std::string_view line) {
    first = column = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t gap = line.find("  ", first);
    if (gap != std::string_view::npos) column = std::min(line.find_first_not_of(' ', gap), line.size());
    if (column == line.size()) column = first;
  }
  bool has_gap() const { return column > first; }
};

std::string broken(std::string line, std::size_t width) {
  const Hanging hanging(line);
  // A column of its own needs room for some words; without it they stand a little to the right of the line's beginning.
  const std::size_t column = hanging.column + 24 <= width ? hanging.column : hanging.first + 2;
  std::string out;
  std::size_t begin = hanging.column;  // of the words that may be parted
  while (line.size() > width) {
    std::size_t blank = line.rfind(' ', width);
    if (blank == std::string::npos || blank <= begin) blank = line.find(' ', begin);
    if (blank == std::string::npos) break;
    const std::size_t next = line.find_first_not_of(' ', blank), last = line.find_last_not_of(' ', blank);
    if (next == std::string::npos) break;
    out += line.substr(0, last + 1) + "\n";
    line = std::string(column, ' ') + line.substr(next);
    begin = column;
  }
  return out + line;
}

}  // namespace

std::size_t text_width(int descriptor) {
  std::size_t width = 0;
  if (const char* columns = std::getenv("COLUMNS")) {
    const std::string_view text(columns);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error != std::errc() || end != text.data() + text.size()) width = 0;
  }
  winsize size{};
  if (width == 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return std::max(kLeastWidth, width == 0 ? kUsualWidth : width);
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out, line;
  bool pending = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string next(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const Hanging before(line);
    if (pending && before.has_gap() && !next.empty() && next.find_first_not_of(' ') == before.column) {
      line += next.substr(before.column - 1);
    } else {
      if (pending) out += broken(line, width) + "\n";
      line = next;
    }
    pending = true;
    if (end == std::string_view::npos) return out + broken(line, width);
  }
  return pending ? out + broken(line, width) + "\n" : out;
}

void print_text(std::string_view text) { fmt::print("{}", wrapped(text, text_width())); }

}  // namespace fodp::app
