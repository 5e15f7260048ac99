// A first schema for a table, made by looking at its rows. What was seen there tells of the rows, so that every column whose bounds or
// values come from them is marked, and training refuses the schema until its user has put in what is known without them.
#pragma once

#include <filesystem>
#include <string>

namespace fodp {

// The text of a schema file. InputError for a file that is no table.
std::string draft_schema(const std::filesystem::path& file);

}  // namespace fodp
