#include "config_file.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "fodp/base/fields.h"
#include "fodp/base/json_text.h"
#include "fodp/base/toml_text.h"

namespace fodp::app {
namespace {

constexpr char kNoText[] = "{}: expected a number, a word, true, false or a list";

std::string option_name(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

using Names = std::set<std::string, std::less<>>;

const char* separator(const std::string& key, const Names& by_line) { return by_line.contains(key) ? "\n" : ","; }

ConfigFile read_toml(const std::string& content, const std::string& file, const Names& by_line) {
  const toml::table table = parse_toml(content, "--config " + file);
  ConfigFile config;
  for (const auto& [key, node] : table) {
    const std::string where = fmt::format("{}: line {}: {}", file, node.source().begin.line, key.str());
    const std::string name = option_name(std::string(key.str()));
    config.entries.push_back({name, option_text(node, where, separator(name, by_line)), where});
  }
  return config;
}

std::string json_text(const nlohmann::json& value, const std::string& where, const char* between) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return number_text(value.get<double>());
  if (value.is_number() || value.is_boolean()) return value.dump();
  check_input(value.is_array(), kNoText, where);
  std::string joined;
  for (const nlohmann::json& item : value) joined += (joined.empty() ? "" : between) + json_text(item, where, between);
  return joined;
}

std::set<std::string> names_in(const nlohmann::json& list, const char* what, const std::string& file) {
  std::set<std::string> names;
  check_input(list.is_array(), "{}: {}: expected a list of names", file, what);
  for (const nlohmann::json& name : list) {
    check_input(name.is_string(), "{}: {}: {} is not a name", file, what, name.dump());
    names.insert(option_name(name));
  }
  return names;
}

ConfigFile read_json(const std::string& content, const std::string& file, const Names& by_line) {
  nlohmann::json object = parse_json(content, "--config " + file);
  check_input(!object.contains("planned_epsilon"), "--config {}: this is the summary of a run; the config.json beside it repeats the run",
              file);
  ConfigFile config;
  std::set<std::string> derived, filled;
  if (object.contains("derived")) {
    derived = names_in(object["derived"], "derived", file);
    object.erase("derived");
    object.erase("started_in");  // for --resume; a repetition is given its files from where it is started
    derived.insert(
        {"out", "save", "export"});  // where that run put its results; nothing is overwritten, so a repetition needs a place of its own
    config.is_record = true;
    if (object.contains("filled")) {
      filled = names_in(object["filled"], "filled", file);
      object.erase("filled");
    }
  }
  for (const auto& [raw, value] : object.items()) {
    const std::string key = option_name(raw), where = fmt::format("{}: {}", file, raw);
    if (!value.is_null() && !derived.contains(key))
      config.entries.push_back({key, json_text(value, where, separator(key, by_line)), where, filled.contains(key)});
  }
  return config;
}

}  // namespace

ConfigFile read_config_file(const std::string& file, const Names& by_line) {
  const std::string content = read_text_file(file, "--config " + file);
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  return first != std::string::npos && content[first] == '{' ? read_json(content, file, by_line) : read_toml(content, file, by_line);
}

}  // namespace fodp::app
