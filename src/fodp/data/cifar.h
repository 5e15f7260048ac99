// The binary version of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): records of one or two label bytes and 3072 pixels, channel, row, column.
#pragma once

#include "fodp/data/dataset.h"

namespace fodp {

// The files' records one after the other. InputError for a partial record or a label out of range.
Examples read_cifar10(const DataFormat& format, const std::vector<std::filesystem::path>& files);
Examples read_cifar100(const DataFormat& format, const std::vector<std::filesystem::path>& files);  // the fine labels

}  // namespace fodp
