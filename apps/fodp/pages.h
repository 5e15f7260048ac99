// All commands as their own lists describe them, and the files for other programs that are written from those: man pages and completion.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "command_text.h"

namespace fodp::app {

// Asks this program and fodp-torch, by starting them with kDescribe. Commands of fodp-torch are left out where that is not built.
std::vector<CommandText> described_commands();

// In roff: of one command, and of the program with its commands.
std::string man_page(const CommandText& command);
std::string man_page(const std::vector<CommandText>& commands);

inline constexpr std::string_view kWritePages = "--write-pages";  // the word that asks for the following; no help shows it

// For the build: man1/fodp.1, man1/fodp-train.1, ..., and the completion scripts under share/ as they are installed.
void write_pages(const std::filesystem::path& folder);

}  // namespace fodp::app
