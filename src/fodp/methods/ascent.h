// The climb of the sharpness-aware methods.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fodp/base/fields.h"

namespace fodp {

struct SharpnessOptions {
  std::optional<double> rho;

  static auto fields() {
    return std::tuple{
        field("rho", &SharpnessOptions::rho, "length of the climb before the gradient is taken", at_least(0), "the method's")};
  }
};

// rho*p/|p|; empty, which is no offset, if p or rho is zero.
std::vector<float> ascent(std::span<const float> direction, double rho);

}  // namespace fodp
