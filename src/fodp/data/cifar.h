// The binary version of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): records of one or two label bytes and 3072 pixels, channel, row, column.
#pragma once

#include "fodp/data/dataset.h"

namespace fodp {

// The files' records one after the other; CIFAR-100's labels are the fine ones. InputError for a partial record or a label out of range.
Examples read_cifar10(const DataFormat& format, const std::vector<std::filesystem::path>& files, Sha256* contents = nullptr);
Examples read_cifar100(const DataFormat& format, const std::vector<std::filesystem::path>& files, Sha256* contents = nullptr);

// How many records the files have by their sizes. InputError for a partial record.
std::int64_t count_cifar10(const DataFormat& format, const std::vector<std::filesystem::path>& files);
std::int64_t count_cifar100(const DataFormat& format, const std::vector<std::filesystem::path>& files);

}  // namespace fodp
