// The threads that blocks of rows run on, one pool for the process.
//
// Each of them computes on one core: LibTorch's own loops, its BLAS and oneDNN see one thread there. So a block gives the same bits
// whichever worker it runs on and however many there are. They are std::threads and no OpenMP team: inside of one oneDNN's convolutions
// return wrong weight gradients (all of them, measured with LibTorch 1.13), whose length no computed norm bounds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace fodp {

// work(i) for every i below `count`, each once, and returns when all are done. As many run at once as torch has threads in the caller
// (at::get_num_threads); inside of `work` further calls run one after the other. The first exception is passed on, after all have ended.
void on_workers(std::int64_t count, const std::function<void(std::int64_t)>& work);

std::int64_t workers();  // how many run at once

// f(block, workspace) for every block that has rows. Blocks are taken one by one, since they differ in cost. A workspace is kept from one
// block of a worker to its next.
template <class F>
void for_each_block(const std::vector<std::vector<std::int64_t>>& blocks, const F& f) {
  std::atomic<std::size_t> next = 0;
  on_workers(std::min<std::int64_t>(workers(), static_cast<std::int64_t>(blocks.size())), [&](std::int64_t) {
    at::Tensor workspace;
    for (std::size_t b = next++; b < blocks.size(); b = next++)
      if (!blocks[b].empty()) f(b, workspace);
  });
}

}  // namespace fodp
