#include "fodp/training/threads.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>

#include <ATen/Parallel.h>

#include "fodp/gradients/workers.h"

namespace fodp {

std::int64_t default_threads() {
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return std::clamp<std::int64_t>(known ? CPU_COUNT(&allowed) : 1, 1, 8);
}

void use_threads(std::int64_t threads) {
  at::set_num_threads(static_cast<int>(threads));
  // OpenBLAS built on pthreads has a pool of its own that torch does not know of.
  using SetThreads = void (*)(int);
  if (auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(1);
}

ParallelFor by_threads() {
  return [](std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& body) {
    const std::int64_t ranges = std::min(count, workers());
    on_workers(ranges, [&](std::int64_t i) { body(count * i / ranges, count * (i + 1) / ranges); });
  };
}

}  // namespace fodp
