// safetensors: 8 bytes little-endian header length, a JSON header {name: {"dtype", "shape", "data_offsets": [begin, end]}}, the data.
// The reader accepts what the format's own library accepts: header of at most 100 MB, no name twice, data without holes or overlaps up to
// the last byte, and sizes that agree with shapes. The writer lists names in the order of the dict, starts the data at a multiple of 8 and
// puts wider types first, so that every tensor is aligned to its type.
//
// The header may also hold "__metadata__": {key: text}. The writer puts "format": "pt" there, which other libraries ask for, unless the
// caller gives a "format" of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/files/state_dict.h"

namespace fodp::files {

// `dict` holds contiguous CPU tensors under distinct UTF-8 names; `file` is for messages here and below.
std::string to_safetensors(const StateDict& dict, const Metadata& metadata, std::string_view file);

// Tensors come in the order of the header.
StateDict from_safetensors(std::string_view bytes, std::string_view file);

// A tensor as the header describes it: its data are the bytes from `begin` to `end` of what follows the header.
struct TensorPlace {
  std::string name;
  at::ScalarType type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, end;
};

// For readers that do not want the whole file in memory: the first 8 bytes are the header's length, which is refused where a file of this
// size cannot have it; then come the header itself and `data_size` bytes of data. Tensors come in the order of the header.
inline constexpr std::uint64_t kSafetensorsLengthSize = 8;
std::uint64_t safetensors_header_size(std::string_view first_bytes, std::uint64_t file_size, std::string_view file);
std::vector<TensorPlace> safetensors_places(std::string_view header, std::uint64_t data_size, std::string_view file);

// All of the file's metadata; empty if it has none.
Metadata metadata_of_safetensors(std::string_view bytes, std::string_view file);

}  // namespace fodp::files
