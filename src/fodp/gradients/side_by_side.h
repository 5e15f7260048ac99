// What must hold while threads of one at::parallel_for each run a model on their own rows.
#pragma once

#include <mutex>

#include <ATen/Context.h>

namespace fodp {

// oneDNN is switched off, for the whole process, while any of these lives: inside a parallel region its convolutions return wrong weight
// gradients (measured with LibTorch 1.13: every one), which no norm bounds. LibTorch's own convolutions are right, and each row of theirs
// depends on that row alone.
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
