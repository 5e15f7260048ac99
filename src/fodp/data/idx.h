// IDX files (yann.lecun.com/exdb/mnist): MNIST and Fashion-MNIST. Big-endian header (magic, sizes), then one byte a value. Plain, or packed
// if the name ends in .gz.
#pragma once

#include "fodp/data/dataset.h"

namespace fodp {

// files: images, then labels. InputError at the first byte that is not what the format says.
Examples read_idx(const DataFormat& format, const std::vector<std::filesystem::path>& files, Sha256* contents = nullptr);

// How many examples the headers say. InputError for headers that are not what the format says or do not agree, and where a file that is not
// packed has another length than its header says; nothing after a header is read.
std::int64_t count_idx(const DataFormat& format, const std::vector<std::filesystem::path>& files);

}  // namespace fodp
