#include "fodp/methods/ascent.h"

#include <cmath>

namespace fodp {

std::vector<float> ascent(std::span<const float> direction, double rho) {
  double squared = 0;
  for (float value : direction) squared += static_cast<double>(value) * value;
  if (!(squared > 0) || !std::isfinite(squared) || rho == 0) return {};
  const double scale = rho / std::sqrt(squared);
  std::vector<float> offset(direction.size());
  for (std::size_t i = 0; i < offset.size(); ++i) offset[i] = static_cast<float>(scale * direction[i]);
  return offset;
}

}  // namespace fodp
