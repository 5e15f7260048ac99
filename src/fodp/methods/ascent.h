// The climb of the sharpness-aware methods.
#pragma once

#include <span>
#include <vector>

namespace fodp {

// rho*p/|p|; empty, which is no offset, if p or rho is zero.
std::vector<float> ascent(std::span<const float> direction, double rho);

}  // namespace fodp
