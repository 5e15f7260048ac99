// The progress of a run on standard error: one line that renews itself on a terminal, plain lines elsewhere.
#pragma once

#include "fodp/training/trainer.h"

namespace fodp::app {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();

  void stepped(const Progress& progress);
  void evaluated(const Evaluation& evaluation);

 private:
  void clear();
  double epsilon(const Progress& progress);

  bool quiet_, terminal_, shown_ = false;
  double last_shown_ = -1;
  double epsilon_ = 0, next_epsilon_ = 0;  // the last that was asked for; when to ask again
};

}  // namespace fodp::app
