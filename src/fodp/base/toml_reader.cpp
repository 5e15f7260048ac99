#include "fodp/base/toml_reader.h"

#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "fodp/base/toml_text.h"

namespace fodp {

TomlReader::TomlReader(const toml::table& table, std::string file, std::string path)
    : table_(table), file_(std::move(file)), path_(std::move(path)) {}

std::string TomlReader::where(std::string_view key) const {
  const toml::node* node = table_.get(key);
  const auto line = (node ? node->source() : table_.source()).begin.line;
  return fmt::format("{}: line {}: {}{}{}", file_, line, path_, path_.empty() ? "" : ".", key);
}

const toml::node* TomlReader::find(std::string_view key) {
  known_.emplace(key);
  return table_.get(key);
}

std::optional<std::string> TomlReader::text(std::string_view key) {
  const toml::node* node = find(key);
  if (!node) return std::nullopt;
  check_input(node->is_string(), "{}: expected a text in quotes", where(key));
  return node->as_string()->get();
}

std::string TomlReader::required(std::string_view key) {
  const std::optional<std::string> given = text(key);
  check_input(given.has_value() && !given->empty(), "{}: is missing", where(key));
  return *given;
}

std::optional<double> TomlReader::number(std::string_view key) {
  const toml::node* node = find(key);
  if (!node) return std::nullopt;
  check_input(node->is_number(), "{}: expected a number", where(key));
  return *node->value<double>();
}

std::optional<std::int64_t> TomlReader::whole(std::string_view key) {
  const toml::node* node = find(key);
  if (!node) return std::nullopt;
  check_input(node->is_integer() && node->as_integer()->get() >= 0, "{}: expected a whole number of at least 0", where(key));
  return node->as_integer()->get();
}

std::optional<bool> TomlReader::truth(std::string_view key) {
  const toml::node* node = find(key);
  if (!node) return std::nullopt;
  check_input(node->is_boolean(), "{}: expected true or false", where(key));
  return node->as_boolean()->get();
}

std::optional<std::vector<std::string>> TomlReader::list(std::string_view key) {
  const toml::node* node = find(key);
  if (!node) return std::nullopt;
  std::vector<std::string> items;
  if (const toml::array* array = node->as_array())
    for (const toml::node& item : *array) items.push_back(option_text(item, where(key)));
  else
    items.push_back(option_text(*node, where(key)));
  return items;
}

std::vector<double> TomlReader::numbers(std::string_view key) {
  std::vector<double> values;
  const toml::array* items = array(key);
  if (!items) return values;
  for (const toml::node& item : *items) {
    check_input(item.is_number(), "{}: expected a list of numbers", where(key));
    values.push_back(*item.value<double>());
  }
  return values;
}

const toml::table* TomlReader::table(std::string_view key) {
  const toml::node* node = find(key);
  check_input(!node || node->is_table(), "{}: expected a section", where(key));
  return node ? node->as_table() : nullptr;
}

const toml::array* TomlReader::array(std::string_view key) {
  const toml::node* node = find(key);
  check_input(!node || node->is_array(), "{}: expected a list", where(key));
  return node ? node->as_array() : nullptr;
}

void TomlReader::each(std::string_view key, const std::function<void(TomlReader&)>& read) {
  const toml::array* items = array(key);
  if (!items) return;
  for (const toml::node& item : *items) {
    check_input(item.is_table(), "{}: expected sections that begin with [[{}]]", where(key), key);
    TomlReader reader(*item.as_table(), file_, std::string(key));
    read(reader);
    reader.finish();
  }
}

void TomlReader::finish() const {
  for (const auto& [key, node] : table_)
    if (!known_.contains(key.str()))
      throw InputError(fmt::format("{}: is not known here: {}", where(key.str()), suggestion(key.str(), {known_.begin(), known_.end()})));
}

}  // namespace fodp
