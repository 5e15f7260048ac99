// Numbers that tell the objects of a process apart.
#pragma once

#include <atomic>
#include <cstdint>

namespace fodp {

// A number above 0 that no other call of this process returns.
inline std::uint64_t unique_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace fodp
