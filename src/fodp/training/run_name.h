// The identity of a run, by which files that tell what it cost are known to speak of the same run.
#pragma once

#include <cstdint>
#include <string>

#include "fodp/training/plan.h"

namespace fodp {

struct RunName {
  std::uint64_t high = 0, low = 0;

  // From the system's randomness. Under an insecure seed it follows from seed and plan, since such a run is repeated bit for bit: its files
  // are the same, too, and what it releases twice costs once.
  static RunName of_new_run(const Plan& plan);

  // InputError for anything but what text() gives.
  static RunName from_text(const std::string& text);

  std::string text() const;  // 32 hexadecimal digits

  friend bool operator==(const RunName&, const RunName&) = default;
};

}  // namespace fodp
