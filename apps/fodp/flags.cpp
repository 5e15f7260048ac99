#include "flags.h"

#include <filesystem>

#include <toml++/toml.h>

namespace fodp::app {

Flags::Flags(std::string command, std::string about, std::string example) : app_(about, "fodp " + command) {
  app_.footer("Example:\n  " + example);
  app_.get_formatter()->column_width(34);
  app_.set_help_flag("-h,--help", "print this help");
  app_.add_flag("--json", json_, "print one JSON object on standard output");
  app_.add_flag("--quiet", quiet_, "no progress");
  app_.add_option("--config", config_, "read options from this TOML file, under the same names; the command line wins");
  names_ = {"--help", "--json", "--quiet", "--config"};
}

void Flags::add_one(std::string_view heading, std::string_view name, const std::string& help, const std::string& standard, bool is_switch,
                    Set set) {
  const std::string key(name);
  const std::string flag = "--" + key;
  names_.push_back(flag);
  setters_[key] = std::move(set);
  if (is_switch) {
    app_.add_flag(flag, switches_[key], help)->group(std::string(heading));
    return;
  }
  app_.add_option(flag, texts_[key], help)->group(std::string(heading))->default_str(standard)->type_name("");
}

void Flags::add_positional(std::string name, std::string help, std::string& value) { app_.add_option(name, value, help); }

bool Flags::parse(const std::vector<std::string>& words) {
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app_.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app_.help());
    return false;
  } catch (const CLI::ExtrasError&) {
    for (const std::string& word : app_.remaining()) throw InputError(unknown_flag(word));
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{}; see {} --help", error.what(), app_.get_name()));
  }
  if (!config_.empty()) read_config(config_);
  for (const auto& [key, text] : texts_) {
    if (app_.count("--" + key) == 0) continue;
    setters_.at(key)(text, "--" + key);
    given_.insert(key);
  }
  for (const auto& [key, on] : switches_) {
    if (app_.count("--" + key) == 0) continue;
    setters_.at(key)(on ? "true" : "false", "--" + key);
    given_.insert(key);
  }
  return true;
}

std::string Flags::unknown_flag(const std::string& flag) const {
  const std::string word = flag.substr(0, flag.find('='));
  if (!word.starts_with("-")) return fmt::format("'{}' is not expected here; see {} --help", word, app_.get_name());
  const std::vector<std::string_view> known(names_.begin(), names_.end());
  return fmt::format("{} has no option '{}': {}", app_.get_name(), word, suggestion(word, known));
}

namespace {

std::string toml_text(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return number_text(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* list = node.as_array()) {
    std::string joined;
    for (const toml::node& item : *list) joined += (joined.empty() ? "" : ",") + toml_text(item, where);
    return joined;
  }
  throw InputError(fmt::format("{}: expected a number, a word, true, false or a list", where));
}

}  // namespace

void Flags::read_config(const std::string& file) {
  check_input(std::filesystem::is_regular_file(file), "--config {}: not a file that can be read", file);
  toml::table table;
  try {
    table = toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("--config {}: line {}: {}", file, error.source().begin.line, error.description()));
  }
  for (const auto& [raw, node] : table) {
    std::string key(raw.str());
    std::replace(key.begin(), key.end(), '_', '-');
    const std::string where = fmt::format("{}: line {}: {}", file, node.source().begin.line, raw.str());
    const auto setter = setters_.find(key);
    if (setter == setters_.end()) {
      std::vector<std::string_view> known;
      for (const auto& item : setters_) known.push_back(item.first);
      throw InputError(fmt::format("{}: not an option of {}: {}", where, app_.get_name(), suggestion(key, known)));
    }
    setter->second(toml_text(node, where), where);
    given_.insert(key);
  }
}

}  // namespace fodp::app
