// Writes a file whole or not at all: its name holds either what it held before or all of the new bytes.
#pragma once

#include <filesystem>
#include <string_view>

namespace fodp {

// Writes a new file beside the target, which then takes the target's place. Throws an InputError that names `what` ("model file") for a
// path that cannot be written, and a FaultError for a full or failing disk. No other file is left behind.
void write_file_atomically(const std::filesystem::path& target, std::string_view bytes, std::string_view what);

}  // namespace fodp
