// Ctrl-C and SIGTERM during a run. The first one is answered at once, and the run ends after the step it is in, with everything saved; the
// second one ends the program there and then.
#pragma once

#include <csignal>

namespace fodp::app {

inline constexpr int kInterruptedStatus = 130;  // what shells give for a program that Ctrl-C ended: 128 + SIGINT

// While it lives, the first signal is only remembered. At most one at a time.
class Interrupt {
 public:
  // `answer` is printed at the first signal; it must outlive this.
  explicit Interrupt(const char* answer = "stopping after this step; press Ctrl-C again to stop at once\n");
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool came() const;

 private:
  struct sigaction before_interrupt_, before_terminate_;
};

}  // namespace fodp::app
