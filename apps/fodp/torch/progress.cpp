#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "command.h"
#include "fodp/base/fields.h"
#include "text.h"

namespace fodp::app {
namespace {

constexpr std::string_view kErase = "\r\033[K";

std::string duration(double seconds) {
  const long whole = std::lround(seconds);
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace

std::string metric_text(const Objective& objective, double value) {
  if (objective.target == Target::Kind::classes) return fmt::format("{} {:.2f}%", objective.metric, 100 * value);
  return fmt::format("{} {:.4f}", objective.metric, value);
}

ReadProgress reading_progress(bool quiet) {
  if (quiet) return {};
  using Clock = std::chrono::steady_clock;
  return [next = Clock::now() + std::chrono::seconds(3)](std::int64_t done, std::int64_t all) mutable {
    if (Clock::now() < next) return;
    next = Clock::now() + std::chrono::seconds(3);
    note(fmt::format("fodp: {} of {} images read\n", done, all));
  };
}

ProgressLine::ProgressLine(const Objective& objective, double planned, bool quiet)
    : objective_(objective), planned_(upper_text(planned)), quiet_(quiet), terminal_(isatty(STDERR_FILENO)) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (shown_) note(std::string(kErase));
  shown_ = false;
}

// Asked for so seldom that it takes no more than a hundredth of the time.
double ProgressLine::epsilon(const Progress& progress) {
  if (progress.seconds >= next_epsilon_) {
    const auto start = std::chrono::steady_clock::now();
    spent(progress.epsilon());
    next_epsilon_ = progress.seconds + 100 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return epsilon_;
}

// What is spent does not become less; bounds on it that are computed at different steps might, by rounding.
double ProgressLine::spent(double epsilon) { return epsilon_ = std::max(epsilon_, epsilon); }

void ProgressLine::stepped(const Progress& progress) {
  if (quiet_ || !terminal_ || progress.seconds - last_shown_ < .1) return;
  last_shown_ = progress.seconds;
  const double rate = static_cast<double>(progress.step) / progress.seconds;
  std::string line = fmt::format("{}step {}/{}  {:.0f} steps/s  {} left", kErase, progress.step, progress.steps, rate,
                                 duration(static_cast<double>(progress.steps - progress.step) / rate));
  line += fmt::format("  epsilon {} of {}", upper_text(epsilon(progress)), planned_);
  if (!std::isnan(progress.test_metric)) line += "  test " + metric_text(objective_, progress.test_metric);
  note(line.substr(0, kErase.size() + text_width(STDERR_FILENO) - 1));  // a second line would not be erased
  shown_ = true;
}

void ProgressLine::evaluated(const Evaluation& evaluation) {
  if (quiet_) return;
  clear();
  std::string tested;
  if (!std::isnan(evaluation.test_metric)) tested += "  test " + metric_text(objective_, evaluation.test_metric);
  if (!std::isnan(evaluation.test_loss)) tested += fmt::format("  test loss {:.4f}", evaluation.test_loss);
  note(fmt::format("step {:>6}  epoch {:>6.1f}  epsilon {:>8} of {}{}  {}\n", evaluation.step, evaluation.epoch,
                   upper_text(spent(evaluation.epsilon)), planned_, tested, duration(evaluation.seconds)));
}

}  // namespace fodp::app
