#include "command_text.h"

#include <algorithm>

#include <fmt/core.h>

#include "text.h"

namespace fodp::app {

std::string OptionText::label() const {
  if (is_positional) return name;
  return name == "help" ? "-h, --help" : "--" + name;
}

std::string help_text(const CommandText& command, std::size_t width) {
  std::size_t longest = 0;
  std::string words;
  for (const OptionText& option : command.options) {
    longest = std::max(longest, option.label().size());
    if (option.is_positional) words += " [" + option.label() + "]";
  }
  // Where both do not fit beside each other, the help of an option stands below its name.
  const bool beside = width >= longest + 44;
  std::string out = fmt::format("{}\n\nUsage: fodp {} [OPTIONS]{}\n", command.about, command.name, words), heading;
  for (const OptionText& option : command.options) {
    if (option.heading != heading) out += fmt::format("\n{}:\n", heading = option.heading);
    const std::string help = option.help + (option.standard.empty() ? "" : fmt::format(" [{}]", option.standard));
    out += beside ? fmt::format("  {:<{}}  {}\n", option.label(), longest, help) : fmt::format("  {}\n      {}\n", option.label(), help);
  }
  // The example stays one line, which can be copied.
  return wrapped(out, width) + "\nExample:\n  " + command.example + "\n";
}

nlohmann::ordered_json to_json(const CommandText& command) {
  nlohmann::ordered_json options = nlohmann::ordered_json::array();
  for (const OptionText& option : command.options)
    options.push_back({{"heading", option.heading},
                       {"name", option.name},
                       {"help", option.help},
                       {"default", option.standard},
                       {"values", option.values},
                       {"switch", option.is_switch},
                       {"file", option.is_file},
                       {"positional", option.is_positional}});
  return {{"name", command.name}, {"about", command.about}, {"example", command.example}, {"options", options}};
}

CommandText command_text(const nlohmann::json& json) {
  CommandText command{.name = json.at("name"), .about = json.at("about"), .example = json.at("example"), .options = {}};
  for (const nlohmann::json& option : json.at("options"))
    command.options.push_back({.heading = option.at("heading"),
                               .name = option.at("name"),
                               .help = option.at("help"),
                               .standard = option.at("default"),
                               .values = option.at("values"),
                               .is_switch = option.at("switch"),
                               .is_file = option.at("file"),
                               .is_positional = option.at("positional")});
  return command;
}

}  // namespace fodp::app
