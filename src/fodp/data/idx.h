// IDX files (yann.lecun.com/exdb/mnist): MNIST and Fashion-MNIST. Big-endian header (magic, sizes), then one byte a value. Plain, or packed
// if the name ends in .gz.
#pragma once

#include "fodp/data/dataset.h"

namespace fodp {

// files: images, then labels. InputError at the first byte that is not what the format says.
Examples read_idx(const DataFormat& format, const std::vector<std::filesystem::path>& files);

}  // namespace fodp
