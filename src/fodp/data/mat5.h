// The outside of a MATLAB v5 file: header, then variables, each plain or compressed. libmatio takes lengths and streams on trust (it stops
// inflating at the last value, so it never sees the checksum, and allocates what a header says): this walk goes before it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "fodp/base/sha256.h"

namespace fodp {

// Verifies that the file is v5, little-endian, whole, holds numeric arrays only, and that every compressed stream has its right checksum.
// Returns the bytes of its variables when unpacked: no array in it can be larger. InputError with the byte of the first fault. The digest,
// if there is one, gets every byte of the file.
std::uint64_t check_mat5(const std::filesystem::path& path, Sha256* contents = nullptr);

// The same without reading what the variables hold: verifies the header, and of each variable its length, its kind and that it begins as an
// array does. What it returns is as many bytes as the variables could have when unpacked.
std::uint64_t check_mat5_headers(const std::filesystem::path& path);

}  // namespace fodp
