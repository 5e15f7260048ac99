// The progress of a run on standard error: one line that renews itself on a terminal, plain lines elsewhere.
#pragma once

#include "fodp/training/trainer.h"

namespace fodp::app {

// "accuracy 84.97%": a metric of an objective, for people.
std::string metric_text(const Objective& objective, double value);

// Says how many rows are read, where that takes longer than some seconds.
ReadProgress reading_progress(bool quiet);

class ProgressLine {
 public:
  // `planned` is the epsilon of the whole plan: what the run guarantees wherever it is stopped.
  ProgressLine(const Objective& objective, double planned, bool quiet);
  ~ProgressLine();

  void stepped(const Progress& progress);
  void evaluated(const Evaluation& evaluation);

 private:
  void clear();
  double epsilon(const Progress& progress);
  double spent(double epsilon);

  const Objective& objective_;
  std::string planned_;
  bool quiet_, terminal_, shown_ = false;
  double last_shown_ = -1;
  double epsilon_ = 0, next_epsilon_ = 0;  // the largest that was given so far; when to ask again
};

}  // namespace fodp::app
