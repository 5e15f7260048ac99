// The command line completed by a shell: commands, their options, and the values of those that have a list.
#pragma once

#include <string>
#include <vector>

#include "command_text.h"

namespace fodp::app {

// A script for `shell`: bash, zsh or fish. InputError for another.
std::string completion_script(const std::string& shell, const std::vector<CommandText>& commands);

}  // namespace fodp::app
