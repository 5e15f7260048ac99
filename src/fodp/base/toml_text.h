// TOML out of a file that may hold anything.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

namespace fodp {

// The table that the text stands for. InputError, which begins with `where` and names the line, if it is not TOML or a key has more than 8
// parts (a.b.c): toml++ takes stack for each part and does not bound them.
toml::table parse_toml(std::string_view text, std::string_view where);

// A number, a word, a truth or a list of these as it would stand on the command line, with `between` between the items of a list.
// InputError, which begins with `where`, for anything else.
std::string option_text(const toml::node& node, const std::string& where, const char* between = ",");

}  // namespace fodp
