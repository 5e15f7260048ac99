// How a piece of work is spread over threads, given from outside, so that what needs no tensor library need not know of its thread pool.
#pragma once

#include <cstdint>
#include <functional>

namespace fodp {

// body(first, last) for ranges that together are [0, count), each item once; ranges may run at the same time.
using ParallelFor = std::function<void(std::int64_t count, const std::function<void(std::int64_t first, std::int64_t last)>& body)>;

inline void one_by_one(std::int64_t count, const std::function<void(std::int64_t first, std::int64_t last)>& body) {
  if (count > 0) body(0, count);
}

}  // namespace fodp
