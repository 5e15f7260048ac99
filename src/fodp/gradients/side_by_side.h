// Blocks of rows that run through a model side by side, and a setting of LibTorch that must hold while they do.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

namespace fodp {

// Switches oneDNN off for the whole process for as long as an object of this class lives. Inside a parallel region oneDNN's convolutions
// return wrong weight gradients (all of them, measured with LibTorch 1.13), whose length no computed norm bounds. LibTorch's own
// convolutions are right, and each row of their result depends on that row alone.
class SideBySide {
 public:
  SideBySide() {
    const std::lock_guard lock(mutex_);
    if (living_++ == 0) was_enabled_ = at::globalContext().userEnabledMkldnn();
    at::globalContext().setUserEnabledMkldnn(false);
  }
  ~SideBySide() {
    const std::lock_guard lock(mutex_);
    if (--living_ == 0) at::globalContext().setUserEnabledMkldnn(was_enabled_);
  }
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;

 private:
  inline static std::mutex mutex_;
  inline static int living_ = 0;
  inline static bool was_enabled_ = true;
};

// f(block, workspace) for every block that has rows, by all threads. Blocks are taken one by one, since they differ in cost. A workspace
// is kept from one block of a thread to its next.
template <class F>
void for_each_block(const std::vector<std::vector<std::int64_t>>& blocks, const F& f) {
  std::atomic<std::size_t> next = 0;
  at::parallel_for(0, std::min<std::int64_t>(at::get_num_threads(), blocks.size()), 1, [&](std::int64_t, std::int64_t) {
    at::Tensor workspace;
    for (std::size_t b = next++; b < blocks.size(); b = next++)
      if (!blocks[b].empty()) f(b, workspace);
  });
}

}  // namespace fodp
