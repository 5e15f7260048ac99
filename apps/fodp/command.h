// The commands, and the one place where errors become messages and exit statuses:
//   0 done; 1 a fault; 2 bad input; 3 a privacy refusal; 130 interrupted (torch/interrupt.h)
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"

namespace fodp::app {

using Words = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Words& words);  // the words after the command's name
};

std::span<const Command> commands();  // of the program that people type, in the order of its help

// The library names an option as `name`; on the command line it is --name.
std::string with_dashes(std::string text);

// Runs it; prints what it throws to standard error, once.
int run_guarded(const std::function<int()>& body);

// To standard error, for people; fitted to the terminal's width, but for a log left in one line. Lost if it cannot be written, since
// nothing depends on it.
void note(const std::string& text);

void print_json(const nlohmann::ordered_json& value);

constexpr std::string_view command_name(std::string_view function) {
  return function.ends_with('_') ? function.substr(0, function.size() - 1) : function;
}

#define FODP_DECLARE(name, summary) int name(const Words& words);
FODP_COMMANDS(FODP_DECLARE, FODP_DECLARE)
#undef FODP_DECLARE

}  // namespace fodp::app
