#include "feature_progress.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/core.h>

#include "command.h"
#include "fodp/training/threads.h"
#include "progress.h"

namespace fodp::app {
namespace {

using Clock = std::chrono::steady_clock;

// One line that renews itself on a terminal; elsewhere a line every half minute, and at the end.
class FeatureLine {
 public:
  void show(std::string_view what, std::int64_t done, std::int64_t all) {
    const Clock::time_point now = Clock::now();
    if (what != what_) what_ = what, start_ = shown_ = now;
    const double spent = std::chrono::duration<double>(now - start_).count(), since = std::chrono::duration<double>(now - shown_).count();
    const bool last = done == all;
    if (!last && since < (terminal_ ? .2 : 30)) return;
    shown_ = now;
    const double left = done > 0 ? spent * static_cast<double>(all - done) / static_cast<double>(done) : 0;
    const std::string text = last ? fmt::format("{}: {} in {:.0f} s", what, all, spent)
                                  : fmt::format("{}: {} of {}, {:.0f} s left", what, done, all, std::ceil(left));
    note((terminal_ ? "\r\033[K" : "") + text + (terminal_ && !last ? "" : "\n"));
  }

 private:
  std::string what_;
  Clock::time_point start_, shown_;
  bool terminal_ = isatty(STDERR_FILENO);
};

}  // namespace

FeatureWork feature_work(bool quiet, std::optional<std::int64_t> threads) {
  use_threads(threads.value_or(default_threads()));
  FeatureWork work{.parallel = by_threads()};
  if (quiet) return work;
  work.read = reading_progress(quiet);
  work.note = [](const std::string& text) { note("fodp: " + text + "\n"); };
  work.progress = [line = std::make_shared<FeatureLine>()](std::string_view what, std::int64_t done, std::int64_t all) {
    line->show(what, done, all);
  };
  return work;
}

}  // namespace fodp::app
