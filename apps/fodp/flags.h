// The command line of one command, made from field lists (fodp/base/fields.h): flags, config file and defaults. Its help is that of
// command_text.h.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_text.h"
#include "fodp/stages/option_set.h"

namespace fodp::app {

class Flags {
 public:
  // `about` says what the command does; `example` is a line to type.
  Flags(std::string command, std::string about, std::string example);

  // A flag per field. `options` must live until parse() is done.
  template <class Options>
  void add(std::string_view heading, Options& options) {
    add(heading, option_part<Options>(), &options);
  }
  void add(std::string_view heading, const OptionPart& part, void* options);

  // A word without dashes, not required.
  void add_positional(std::string name, std::string help, std::string& value);
  void add_positional(std::string name, std::string help, std::vector<std::string>& values);  // any number of them

  // All that the option of this name can be, where its type does not say it; for completion.
  void values(std::string_view name, std::vector<std::string> list);

  // What an option that several commands share means for this one. Without a text the help leaves it out.
  void describe(std::string_view name, std::optional<std::string> help);

  // The option of this name takes the name of a file and may be given several times, or as a list in a config file.
  void repeatable(std::string_view name);

  // Options that say the same thing in different ways. One on the command line displaces the others from the config file.
  void alternatives(std::set<std::string, std::less<>> names) { alternatives_.push_back(std::move(names)); }

  // Reads the words after the command's name: the config file first, then the flags over it. Returns false if help was asked for and given.
  bool parse(const std::vector<std::string>& words);

  bool json() const { return json_; }
  bool quiet() const { return quiet_; }
  bool given(std::string_view name) const { return given_.contains(std::string(name)); }  // by flag or config file
  const std::set<std::string, std::less<>>& given() const { return given_; }
  // As given(), or by the record of a run that is repeated.
  bool set(std::string_view name) const { return given(name) || recorded_.contains(std::string(name)); }

 private:
  using Set = std::function<void(std::string_view text, std::string_view where)>;
  void add_one(OptionText text, Set set);
  void read_config(const std::string& file);
  bool on_command_line(const std::string& key) const { return app_.count("--" + key) > 0; }
  bool displaced(const std::string& key) const;  // by an alternative on the command line
  std::string unknown_flag(const std::string& flag) const;

  CLI::App app_;
  CommandText text_;
  std::vector<std::set<std::string, std::less<>>> alternatives_;
  bool json_ = false, quiet_ = false;
  std::string config_;
  std::map<std::string, Set, std::less<>> setters_;
  std::map<std::string, std::string, std::less<>> texts_;  // CLI11 writes here
  std::map<std::string, bool, std::less<>> switches_;
  std::set<std::string, std::less<>> given_, recorded_, repeatable_;
};

}  // namespace fodp::app
