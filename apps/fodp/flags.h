// The command line of one command, made from field lists (fodp/base/fields.h): flags, config file, defaults and help.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "fodp/base/fields.h"

namespace fodp::app {

class Flags {
 public:
  // `about` says what the command does; `example` is a line to type.
  Flags(std::string command, std::string about, std::string example);

  // A flag per field. `options` must live until parse() is done.
  template <class Options>
  void add(std::string_view heading, Options& options) {
    for_each_field(options, [&](const auto& field, auto& value) {
      using Value = std::remove_cvref_t<decltype(value)>;
      const std::string standard = field.default_text.empty() ? FieldText<Value>::print(value) : std::string(field.default_text);
      const Range range = field.range;
      add_one(heading, field.name, std::string(field.help), standard, std::same_as<Value, bool>,
              [&value, range](std::string_view text, std::string_view where) { value = FieldText<Value>::parse(text, where, range); });
    });
  }

  // A word without dashes, not required.
  void add_positional(std::string name, std::string help, std::string& value);

  // Reads the words after the command's name: the config file first, then the flags over it. Returns false if help was asked for and given.
  bool parse(const std::vector<std::string>& words);

  bool json() const { return json_; }
  bool quiet() const { return quiet_; }
  bool given(std::string_view name) const { return given_.contains(std::string(name)); }  // by flag or config file

 private:
  using Set = std::function<void(std::string_view text, std::string_view where)>;
  void add_one(std::string_view heading, std::string_view name, const std::string& help, const std::string& standard, bool is_switch,
               Set set);
  void read_config(const std::string& file);
  std::string unknown_flag(const std::string& flag) const;

  CLI::App app_;
  bool json_ = false, quiet_ = false;
  std::string config_;
  std::vector<std::string> names_;
  std::map<std::string, Set, std::less<>> setters_;
  std::map<std::string, std::string, std::less<>> texts_;  // CLI11 writes here
  std::map<std::string, bool, std::less<>> switches_;
  std::set<std::string, std::less<>> given_;
};

}  // namespace fodp::app
