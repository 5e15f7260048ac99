// What libFuzzer calls with each input: the one target that is linked beside it.
#include <cstddef>
#include <cstdint>

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fodp::fuzz::reads(fodp::fuzz::targets().front(), {data, size});
  return 0;
}
