#include "flags.h"

#include <algorithm>

#include "command.h"
#include "config_file.h"
#include "fodp/base/check.h"
#include "fodp/base/utf8.h"
#include "text.h"

namespace fodp::app {
namespace {

constexpr char kEverywhere[] = "Every command";

}  // namespace

Flags::Flags(std::string command, std::string about, std::string example) : app_("", "fodp " + command) {
  text_ = {.name = std::move(command), .about = std::move(about), .example = std::move(example), .options = {}};
  app_.set_help_flag("-h,--help");
  add_one({.heading = kEverywhere, .name = "json", .help = "print one JSON object on standard output", .is_switch = true},
          [this](std::string_view text, std::string_view where) { json_ = parse_bool(text, where); });
  add_one({.heading = kEverywhere, .name = "quiet", .help = "no progress", .is_switch = true},
          [this](std::string_view text, std::string_view where) { quiet_ = parse_bool(text, where); });
  app_.add_option("--config", config_);
  text_.options.push_back({.heading = kEverywhere,
                           .name = "config",
                           .help = "read options from this file: TOML under the same names, or a run's config.json; the command line wins",
                           .is_file = true});
  text_.options.push_back({.heading = kEverywhere, .name = "help", .help = "print this help", .is_switch = true});
}

// The options of every command stand last.
void Flags::add(std::string_view heading, const OptionPart& part, void* options) {
  for (const OptionField& field : part.fields) {
    OptionText text{.heading = std::string(heading), .name = std::string(field.name), .help = with_dashes(field.help)};
    text.standard = field.is_switch ? "" : with_dashes(field.standard);  // a switch is off
    text.is_switch = field.is_switch;
    text.is_file = field.is_text;
    text.values = field.values;
    add_one(std::move(text), [&field, options](std::string_view given, std::string_view where) { field.set(options, given, where); });
  }
}

void Flags::add_one(OptionText text, Set set) {
  const std::string flag = "--" + text.name;
  setters_[text.name] = std::move(set);
  if (text.is_switch)
    app_.add_flag(flag, switches_[text.name]);
  else
    app_.add_option(flag, texts_[text.name]);
  const auto last = std::find_if(text_.options.begin(), text_.options.end(), [](const auto& one) { return one.heading == kEverywhere; });
  text_.options.insert(text.heading == kEverywhere ? text_.options.end() : last, std::move(text));
}

void Flags::add_positional(std::string name, std::string help, std::string& value) {
  app_.add_option(name, value);
  text_.options.insert(text_.options.begin(),
                       {.heading = "Words", .name = std::move(name), .help = std::move(help), .is_positional = true});
}

void Flags::add_positional(std::string name, std::string help, std::vector<std::string>& values) {
  app_.add_option(name, values);
  text_.options.insert(text_.options.begin(),
                       {.heading = "Words", .name = std::move(name), .help = std::move(help), .is_positional = true});
}

void Flags::values(std::string_view name, std::vector<std::string> list) {
  for (OptionText& option : text_.options)
    if (option.name == name) option.values = list;
}

void Flags::describe(std::string_view name, std::optional<std::string> help) {
  const auto option = std::ranges::find(text_.options, name, &OptionText::name);
  if (help)
    option->help = std::move(*help);
  else
    text_.options.erase(option);
}

void Flags::repeatable(std::string_view name) {
  app_.get_option("--" + std::string(name))->join();  // one a line
  repeatable_.emplace(name);
  for (OptionText& option : text_.options)
    if (option.name == name) option.is_file = true;
}

bool Flags::parse(const std::vector<std::string>& words) {
  if (words.size() == 1 && words.front() == kDescribe) {
    fmt::print("{}\n", to_json(text_).dump());
    return false;
  }
  for (const std::string& word : words)
    check_input(is_utf8(word), "'{}': is not UTF-8: what is recorded of a run has no other texts; give the file another name", word);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app_.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_text(text_, text_width()));
    return false;
  } catch (const CLI::ExtrasError&) {
    for (const std::string& word : app_.remaining()) throw InputError(unknown_flag(word));
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{}; see {} --help", error.what(), app_.get_name()));
  }
  if (!config_.empty()) read_config(config_);
  for (const auto& [key, set] : setters_) {
    if (!on_command_line(key)) continue;
    const auto found = switches_.find(key);
    set(found == switches_.end() ? texts_.at(key) : found->second ? "true" : "false", "--" + key);
    given_.insert(key);
  }
  return true;
}

std::string Flags::unknown_flag(const std::string& flag) const {
  const std::string word = flag.substr(0, flag.find('='));
  if (!word.starts_with("-")) return fmt::format("'{}' is not expected here; see {} --help", word, app_.get_name());
  std::vector<std::string> names;
  for (const OptionText& option : text_.options)
    if (!option.is_positional) names.push_back("--" + option.name);
  return fmt::format("{} has no option '{}': {}", app_.get_name(), word, suggestion(word, {names.begin(), names.end()}));
}

bool Flags::displaced(const std::string& key) const {
  return std::ranges::any_of(alternatives_, [&](const auto& names) {
    return names.contains(key) && std::ranges::any_of(names, [&](const std::string& name) { return name != key && on_command_line(name); });
  });
}

void Flags::read_config(const std::string& file) {
  const ConfigFile config = read_config_file(file, repeatable_);
  // A record is repeated as it is. If the command line changes it, what followed from the rest follows anew.
  const std::set<std::string, std::less<>> harmless = {"out",     "save",           "export",    "quiet",        "json",
                                                       "threads", "physical-batch", "init-seed", "insecure-seed"};
  const bool changed =
      std::ranges::any_of(setters_, [&](const auto& item) { return !harmless.contains(item.first) && on_command_line(item.first); });
  for (const auto& [key, text, where, filled] : config.entries) {
    const auto setter = setters_.find(key);
    if (setter == setters_.end()) {
      std::vector<std::string_view> known;
      for (const auto& item : setters_) known.push_back(item.first);
      throw InputError(fmt::format("{}: not an option of {}: {}", where, app_.get_name(), suggestion(key, known)));
    }
    if (displaced(key) || (filled && changed)) continue;
    setter->second(text, where);
    (config.is_record ? recorded_ : given_).insert(key);
  }
}

}  // namespace fodp::app
