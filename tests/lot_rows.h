// The rows of a lot, which nobody but a run and a test may see.
#pragma once

#include <cstdint>
#include <vector>

#include "fodp/data/sampling.h"

namespace fodp::testing {

struct LotRows {
  static const std::vector<std::vector<std::int64_t>>& blocks(const Lot& lot) { return lot.blocks_; }
};

}  // namespace fodp::testing
