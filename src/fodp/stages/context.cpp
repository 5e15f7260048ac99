#include "fodp/stages/context.h"

#include <cmath>

namespace fodp {

double RunContext::noise_norm() const { return noise_multiplier.first() * clip_norm * std::sqrt(static_cast<double>(parameters)); }

}  // namespace fodp
