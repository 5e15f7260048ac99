// How a study goes on, on standard error: one line that renews itself on a terminal, a line for each run elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "study/records.h"

namespace fodp::app {

std::string duration_text(double seconds);  // "45 s", "3 min 05 s", "2 h 10 min"

class StudyProgress {
 public:
  StudyProgress(std::size_t runs, double expected_seconds, bool quiet);
  ~StudyProgress();

  void ended(const Record& record);
  void show(std::size_t running);

 private:
  double seconds() const;
  double left() const;

  std::size_t runs_, done_ = 0, failed_ = 0;
  double expected_;
  bool quiet_, terminal_, shown_ = false;
  double last_shown_ = -1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace fodp::app
