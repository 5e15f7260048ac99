// The header of a NumPy array file (.npy, versions 1 to 3: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a few
// bytes, then a Python dictionary as text, which is read as a text and never run.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

namespace fodp {

// An array as the header of its file describes it. Its values lie in C order: the last dimension is the one that runs fastest.
struct ArrayInfo {
  at::ScalarType type = at::kFloat;
  bool big_endian = false;
  std::vector<std::int64_t> shape = {};

  std::uint64_t width() const { return c10::elementSize(type); }
  std::uint64_t values() const;  // how many there are
  std::uint64_t bytes() const { return values() * width(); }
  std::string text() const;  // "float32 [100, 3, 32, 32]"
};

// Fills the span and returns how many bytes there were: fewer than asked for only at the end.
using ReadBytes = std::function<std::size_t(std::span<std::uint8_t>)>;

struct NpyHeader {
  ArrayInfo array;
  std::uint64_t size;  // of the header; the values follow it
};

// Reads the header and nothing behind it. InputError, which begins with `where`, if it is damaged, if the values are Python objects,
// records, texts or numbers of a type that is not read here, if they are in Fortran order, or if there are more than 2^48 bytes of them.
NpyHeader read_npy_header(const ReadBytes& read, const std::string& where);

}  // namespace fodp
