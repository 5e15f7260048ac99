// Whole files or none: a name holds either what it held before or all of the new bytes.
#pragma once

#include <filesystem>
#include <string_view>

namespace fodp {

// Writes beside the target, then takes its place. InputError, naming `what` ("model file"), for a path that cannot be written; FaultError
// for a full or failing disk. Nothing else is left behind.
void write_file_atomically(const std::filesystem::path& target, std::string_view bytes, std::string_view what);

}  // namespace fodp
