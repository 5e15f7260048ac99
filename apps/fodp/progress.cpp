#include "progress.h"

#include <unistd.h>

#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "command.h"
#include "fodp/base/fields.h"

namespace fodp::app {
namespace {

std::string duration(double seconds) {
  const long whole = std::lround(seconds);
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO)) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (shown_) note("\r\033[K");
  shown_ = false;
}

// Asked for so seldom that it takes no more than a hundredth of the time.
double ProgressLine::epsilon(const Progress& progress) {
  if (progress.seconds >= next_epsilon_) {
    const auto start = std::chrono::steady_clock::now();
    epsilon_ = progress.epsilon();
    next_epsilon_ = progress.seconds + 100 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return epsilon_;
}

void ProgressLine::stepped(const Progress& progress) {
  if (quiet_ || !terminal_ || progress.seconds - last_shown_ < .1) return;
  last_shown_ = progress.seconds;
  const double rate = static_cast<double>(progress.step) / progress.seconds;
  std::string line = fmt::format("\r\033[Kstep {}/{}  {:.0f} steps/s  {} left", progress.step, progress.steps, rate,
                                 duration(static_cast<double>(progress.steps - progress.step) / rate));
  line += fmt::format("  epsilon {}", upper_text(epsilon(progress)));
  if (!std::isnan(progress.test_accuracy)) line += fmt::format("  test accuracy {:.2f}%", 100 * progress.test_accuracy);
  note(line);
  shown_ = true;
}

void ProgressLine::evaluated(const Evaluation& evaluation) {
  if (quiet_) return;
  clear();
  note(fmt::format("step {:>6}  epoch {:>6.1f}  epsilon {:>8}  test accuracy {:.2f}%  test loss {:.4f}  {}\n", evaluation.step,
                   evaluation.epoch, upper_text(evaluation.epsilon), 100 * evaluation.test_accuracy, evaluation.test_loss,
                   duration(evaluation.seconds)));
}

}  // namespace fodp::app
