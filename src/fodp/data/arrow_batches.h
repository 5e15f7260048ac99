// The one door to Arrow's C++ library; only builds with Arrow have it.
#pragma once

#include <functional>
#include <string>

#include "fodp/data/arrow_file.h"

namespace fodp {

// The rows of the file, as read_arrow() gives them.
void read_arrow_batches(const std::string& file, TableFormat format, const ArrowTexts& texts,
                        const std::function<bool(const CsvRow&)>& row);

}  // namespace fodp
