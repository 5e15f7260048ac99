// A number that changes evenly over the steps of a run, written by its ends: what a schedule makes of a rate or of a noise multiplier.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace fodp {

// At the share t of the way, from 0 to 1: ((1-t)*first + t*weight*last) / ((1-t) + t*weight). Linear where the weight is 1; with another
// weight it is one linear schedule over another, as sigma over beta.
struct Ramp {
  double first = 0, last = 0, weight = 1;

  double at(std::int64_t step, std::int64_t steps) const;
  bool constant() const { return first == last; }
};

// The ramp that gives all of these values, to a trillionth of each; nothing if there is none.
std::optional<Ramp> ramp_through(std::span<const double> values);

}  // namespace fodp
