// PyTorch's zip format (torch.save since 1.6): a stored, never compressed zip archive with
//   data.pkl     pickle protocol 2: an OrderedDict from name to torch._utils._rebuild_tensor_v2(storage, offset, size, stride, False, {})
//   data/<key>   the bytes of one storage, little-endian
//   byteorder    "little" (2.x; absent before)       version   "3"
//   extra/metadata.json   ours: texts by key, as JSON; absent where there are none. Python's torch.load does not look at it.
//
// Nothing in a file is executed (pickle.h). Sizes, offsets and strides are checked against the record they point into, record lengths
// against the file, and checksums where the file has them (zip_archive.h; torch.load itself checks none).
#pragma once

#include <string>
#include <string_view>

#include "fodp/files/state_dict.h"

namespace fodp::files {

// `dict` holds contiguous CPU tensors under distinct UTF-8 names; `file` is for messages here and below.
std::string to_pt(const StateDict& dict, const Metadata& metadata, std::string_view file);

StateDict from_pt(std::string_view bytes, std::string_view file);

// Empty if the file has none.
Metadata metadata_of_pt(std::string_view bytes, std::string_view file);

}  // namespace fodp::files
