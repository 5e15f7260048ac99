// The state of a run (base/state.h) as a file: a first line that says what it is, in which version; then each value with its name, type,
// length and bytes, little-endian; then the SHA-256 of all that. Written and read back it is the same to the last bit. It is written as a
// whole or not at all, so that whatever happens the name holds the new state or the one before.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "fodp/base/state.h"

namespace fodp {

std::string state_bytes(const State& state);
// InputError, which begins with `where`, for bytes that are not a whole state of a version that is known. Every length is checked against
// the bytes before memory is taken for it.
State state_from_bytes(std::string_view bytes, std::string_view where);

// InputError for a path that cannot be written, FaultError for a full or failing disk.
void write_state(const State& state, const std::filesystem::path& file);
State read_state(const std::filesystem::path& file);

}  // namespace fodp
