// Where the time of a step goes, for `fodp bench`, which trains on made-up rows.
//
// Nothing is measured unless a PhaseTimes lives: how long a phase takes tells how many rows a lot has, which must not leave a private run.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace fodp {

enum class Phase : std::uint8_t { sample, gather, forward, backward, norms, sum, noise, memory, update };

inline constexpr std::array<std::string_view, 9> kPhaseNames = {"sample", "gather", "forward", "backward", "norms",
                                                                "sum",    "noise",  "memory",  "update"};

// Adds up the time of every phase, over all threads, while it lives. One at a time in a process.
class PhaseTimes {
 public:
  PhaseTimes() { current = this; }
  ~PhaseTimes() { current = nullptr; }
  PhaseTimes(const PhaseTimes&) = delete;
  PhaseTimes& operator=(const PhaseTimes&) = delete;

  double seconds(Phase phase) const { return 1e-9 * static_cast<double>(nanoseconds_[static_cast<std::size_t>(phase)].load()); }

 private:
  friend class InPhase;

  static inline std::atomic<PhaseTimes*> current = nullptr;
  std::array<std::atomic<std::int64_t>, kPhaseNames.size()> nanoseconds_{};
};

// A thread is in a phase while this lives. Phases of one thread do not lie inside each other.
class InPhase {
 public:
  explicit InPhase(Phase phase) : times_(PhaseTimes::current.load(std::memory_order_relaxed)), phase_(phase) {
    if (times_) start_ = std::chrono::steady_clock::now();
  }
  ~InPhase() {
    if (times_)
      times_->nanoseconds_[static_cast<std::size_t>(phase_)] +=
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
  }
  InPhase(const InPhase&) = delete;
  InPhase& operator=(const InPhase&) = delete;

 private:
  PhaseTimes* times_;
  Phase phase_;
  std::chrono::steady_clock::time_point start_;
};

template <class F>
auto in_phase(Phase phase, const F& f) {
  const InPhase within(phase);
  return f();
}

}  // namespace fodp
