// Numeric arrays out of a MATLAB v5 file (MathWorks, "MAT-File Format", chapter 1): a header, then variables, each plain or compressed.
//
// Every length in the file is held against the file before memory is taken for it. libmatio, which we do not use for this reason, takes
// what a header says, and stops inflating at the last value, so that it never sees the checksum.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/base/sha256.h"

namespace fodp {

struct MatArray {
  std::string name;
  int kind = 0;  // MATLAB's class: 6 double, 7 single, 8 to 15 int8 to uint64
  bool is_complex = false, is_logical = false;
  std::vector<std::uint64_t> shape;  // at least two sizes; values are in column-major order
  std::uint32_t stored_as = 0;       // the type of the values in the file, which may be narrower than the class
  std::uint64_t stored_bytes = 0;    // of the values; not held against the shape yet
  std::vector<std::uint8_t> values;  // as stored, little-endian; empty unless they were asked for

  static constexpr int of_doubles = 6, of_bytes = 9;   // kinds
  static constexpr std::uint32_t stored_as_bytes = 2;  // a type

  // The values as numbers, whatever they are stored as. InputError, which begins with `file`, for a type that is none of numbers, or if
  // there are not as many as `count`.
  std::vector<double> numbers(std::uint64_t count, std::string_view file) const;
};

// The arrays of the file in their order, with the values of those whose names are `wanted`. Verifies that the file is v5, little-endian,
// whole, holds numeric arrays only, and that every compressed stream has its right checksum. InputError with the byte of the first fault.
// The digest, if there is one, gets every byte of the file.
std::vector<MatArray> read_mat5(const std::filesystem::path& path, std::initializer_list<std::string_view> wanted,
                                Sha256* contents = nullptr);

// The same without values: nothing of a variable is read after its header.
std::vector<MatArray> read_mat5_headers(const std::filesystem::path& path);

}  // namespace fodp
