// SVHN's cropped digits (Netzer et al. 2011), MATLAB v5 files: X, uint8 [32, 32, 3, N] in column-major order, and y, N x 1, 1 to 10, where
// 10 is the digit 0 (mat5.h).
#pragma once

#include "fodp/data/dataset.h"

namespace fodp {

// files: one. InputError for what is not as above. Never prints.
Examples read_svhn(const DataFormat& format, const std::vector<std::filesystem::path>& files, Sha256* contents = nullptr);

// N by the headers of X and y, which are held to the same; no pixel and no label is read.
std::int64_t count_svhn(const DataFormat& format, const std::vector<std::filesystem::path>& files);

}  // namespace fodp
