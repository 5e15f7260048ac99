// What a command takes, as a list: its help, its man page and the shells' completion are all written from it. Commands give theirs as a
// line of JSON when their only word is kDescribe, since those that need LibTorch run in another program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace fodp::app {

inline constexpr std::string_view kDescribe = "--describe";  // not for people: no help shows it

struct OptionText {
  std::string heading;              // the part of the help it stands in
  std::string name;                 // "noise-multiplier", without the dashes
  std::string help, standard;       // `standard` says what holds when it is not given; may be empty
  std::vector<std::string> values;  // all that it can be, where that is a list
  bool is_switch = false;           // it takes no value
  bool is_file = false;             // its value may name a file or a folder
  bool is_positional = false;       // a word without dashes, not required

  std::string label() const;  // "--noise-multiplier", "NAME"
};

struct CommandText {
  std::string name, about, example;
  std::vector<OptionText> options;  // those of a heading stand together
  std::string summary = "";         // its line in a list of commands, which pages.h fills in
};

std::string help_text(const CommandText& command, std::size_t width);

nlohmann::ordered_json to_json(const CommandText& command);
CommandText command_text(const nlohmann::json& json);

}  // namespace fodp::app
