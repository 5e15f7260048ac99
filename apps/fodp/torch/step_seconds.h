// How long a private training takes on this machine, from a few steps on made-up rows.
#pragma once

#include <cstdint>

#include "fodp/accounting/run_choice.h"

namespace fodp::app {

struct StepSeconds {
  double step = 0;  // what a step takes whatever its lot: noise and update
  double row = 0;   // what each example of the lot adds

  double of(const RunSize& size, std::int64_t examples) const;
};

// Measured with the default method on dense layers with about so many parameters, in a fraction of a second. Convolutions share their
// parameters between pixels and take longer.
StepSeconds measure_step_seconds(std::int64_t parameters);

}  // namespace fodp::app
