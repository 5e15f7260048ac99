#include "interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace fodp::app {
namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t on_terminal = 0;
const char* volatile said = "";

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());  // it may be closed; nothing depends on it
}

// A signal handler may call only what POSIX lists as safe there; write and sigaction are.
void on_signal(int) {
  const int error = errno;  // belongs to whatever was interrupted
  interrupted = 1;
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGINT, &standard, nullptr);
  sigaction(SIGTERM, &standard, nullptr);
  if (on_terminal) say("\r\033[K");  // the progress line
  say(said);
  errno = error;
}

}  // namespace

Interrupt::Interrupt(const char* answer) {
  interrupted = 0;
  said = answer;
  on_terminal = isatty(STDERR_FILENO);
  struct sigaction ours {};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART;  // a read or write that is under way goes on
  sigemptyset(&ours.sa_mask);
  sigaction(SIGINT, &ours, &before_interrupt_);
  sigaction(SIGTERM, &ours, &before_terminate_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &before_interrupt_, nullptr);
  sigaction(SIGTERM, &before_terminate_, nullptr);
}

bool Interrupt::came() const { return interrupted != 0; }

}  // namespace fodp::app
