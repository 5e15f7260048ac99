// JSON out of a file that may hold anything.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace fodp {

// The text of a small file, such as options or a summary. InputError, which begins with `where`, if it is no regular file, cannot be read
// or has more than 64 MB.
std::string read_text_file(const std::filesystem::path& file, std::string_view where);

// The value that the text stands for. InputError, which begins with `where`, if it is not JSON or is nested deeper than 100 levels:
// printing and copying a value takes stack for each of them.
nlohmann::json parse_json(std::string_view text, std::string_view where);

}  // namespace fodp
