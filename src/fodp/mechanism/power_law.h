// The exponent of the power law that the largest of some positive numbers follow (Clauset, Shalizi and Newman 2009): every value is a
// candidate for where the tail begins; the best is the one whose tail is nearest to its own law.
#pragma once

#include <optional>
#include <vector>

namespace fodp {

// Values of at most 1e-12 of the largest are left out. None if no tail has five values, or all of a tail are equal.
std::optional<double> power_law_exponent(std::vector<double> values);

}  // namespace fodp
