// A setting of LibTorch that must hold while the threads of one at::parallel_for run a model, each on its own rows.
#pragma once

#include <mutex>

#include <ATen/Context.h>

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

}  // namespace fodp
