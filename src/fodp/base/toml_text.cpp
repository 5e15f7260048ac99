#include "fodp/base/toml_text.h"

#include <algorithm>

#include "fodp/base/check.h"
#include "fodp/base/fields.h"

namespace fodp {
namespace {

constexpr int kMostDots = 7;
constexpr std::string_view kBetweenKeys = "=,[]{}\n";

// The place after the string or comment that begins at `at`. One that may not go on after its line ends there, as it does for the parser.
std::size_t after_quoted(std::string_view text, std::size_t at) {
  const std::string_view quote = text.substr(at, 1);
  if (quote == "#") return std::min(text.find('\n', at), text.size());
  const std::string_view three = text.substr(at, 3);
  const bool lines = three == "\"\"\"" || three == "'''";
  const std::string_view end = lines ? three : quote;
  for (at += end.size(); at < text.size(); ++at) {
    if (text.substr(at).starts_with(end)) return at + end.size();
    if (!lines && text[at] == '\n') return at;
    if (quote == "\"" && text[at] == '\\') ++at;
  }
  return text.size();
}

// The line of the first key with too many dots, or 0.
std::size_t line_of_long_key(std::string_view text) {
  int dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'' || c == '#') {
      at = after_quoted(text, at);
      continue;
    }
    if (kBetweenKeys.find(c) != kBetweenKeys.npos) dots = 0;
    if (c == '.' && ++dots > kMostDots)
      return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    ++at;
  }
  return 0;
}

}  // namespace

toml::table parse_toml(std::string_view text, std::string_view where) {
  const std::size_t line = line_of_long_key(text);
  check_input(line == 0, "{}: line {}: a key of more than {} parts", where, line, kMostDots + 1);
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}: line {}: {}", where, error.source().begin.line, error.description()));
  }
}

std::string option_text(const toml::node& node, const std::string& where, const char* between) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return number_text(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  const auto* list = node.as_array();
  check_input(list != nullptr, "{}: expected a number, a word, true, false or a list", where);
  std::string joined;
  for (const toml::node& item : *list) joined += (joined.empty() ? "" : between) + option_text(item, where, between);
  return joined;
}

}  // namespace fodp
