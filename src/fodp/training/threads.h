// One pool of worker threads for everything: blocks of rows, blocks of noise, blocks of the test set. The BLAS below runs each product on
// one thread, so that results do not depend on their number.
#pragma once

#include <cstdint>

#include "fodp/base/parallel.h"

namespace fodp {

std::int64_t default_threads();  // the cores this process may use, at most 8
void use_threads(std::int64_t threads);
ParallelFor by_threads();  // over that pool

}  // namespace fodp
