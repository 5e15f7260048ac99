#include "study_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "command.h"
#include "text.h"

namespace fodp::app {
namespace {

constexpr std::string_view kErase = "\r\033[K";

}  // namespace

std::string duration_text(double seconds) {
  const long whole = std::lround(std::max(0.0, seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

StudyProgress::StudyProgress(std::size_t runs, double expected_seconds, bool quiet)
    : runs_(runs), expected_(expected_seconds), quiet_(quiet), terminal_(isatty(STDERR_FILENO)) {
  if (!quiet_) note(fmt::format("{} runs to do, about {}\n", runs, duration_text(expected_seconds)));
}

StudyProgress::~StudyProgress() {
  if (shown_) note(std::string(kErase));
}

double StudyProgress::seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

// From what was expected at first, then more and more from the runs that have ended.
double StudyProgress::left() const {
  const double share = static_cast<double>(done_ + failed_) / static_cast<double>(runs_);
  const double by_expectation = expected_ * (1 - share), by_experience = share > 0 ? seconds() * (1 - share) / share : by_expectation;
  return share * by_experience + (1 - share) * by_expectation;
}

void StudyProgress::ended(const Record& record) {
  const bool done = record["status"] == "done";
  ++(done ? done_ : failed_);
  if (quiet_ || terminal_ || !done) return;
  std::string run;
  for (const auto& [axis, label] : record["run"].items())
    run += axis + " " + (label.is_string() ? label.get<std::string>() : label.dump()) + ", ";
  const Record accuracy = record.value("test_accuracy", Record()), epsilon = record.value("epsilon", Record());
  note(fmt::format("{} of {}  {} {}accuracy {}, epsilon {}  {} left\n", done_ + failed_, runs_, record["study"].get<std::string>(), run,
                   accuracy.is_number() ? fmt::format("{:.4f}", accuracy.get<double>()) : "none",
                   epsilon.is_number() ? fmt::format("{:.4g}", epsilon.get<double>()) : "inf", duration_text(left())));
}

void StudyProgress::show(std::size_t running) {
  if (quiet_ || !terminal_ || seconds() - last_shown_ < .5) return;
  last_shown_ = seconds();
  const std::string line =
      fmt::format("{}{} of {} done, {} running, {} failed, {} left", kErase, done_, runs_, running, failed_, duration_text(left()));
  note(line.substr(0, kErase.size() + text_width(STDERR_FILENO) - 1));
  shown_ = true;
}

}  // namespace fodp::app
