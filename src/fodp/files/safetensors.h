// safetensors: 8 bytes little-endian header length, a JSON header {name: {"dtype", "shape", "data_offsets": [begin, end]}}, the data.
// The reader accepts what the format's own library accepts: header of at most 100 MB, no name twice, data without holes or overlaps up to
// the last byte, and sizes that agree with shapes. The writer lists names in the order of the dict, starts the data at a multiple of 8 and
// puts wider types first, so that every tensor is aligned to its type.
//
// The header may also hold "__metadata__": {key: text}. The writer puts "format": "pt" there, which other libraries ask for, unless the
// caller gives a "format" of its own.
#pragma once

#include <string>
#include <string_view>

#include "fodp/files/state_dict.h"

namespace fodp::files {

// `dict` holds contiguous CPU tensors under distinct UTF-8 names; `file` is for messages here and below.
std::string to_safetensors(const StateDict& dict, const Metadata& metadata, std::string_view file);

// Tensors come in the order of the header.
StateDict from_safetensors(std::string_view bytes, std::string_view file);

// All of the file's metadata; empty if it has none.
Metadata metadata_of_safetensors(std::string_view bytes, std::string_view file);

}  // namespace fodp::files
