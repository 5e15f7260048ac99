// What an update rule is given and does.
#pragma once

#include <optional>
#include <span>

namespace fodp {

// A released sum, or what a filter made of several: private, free to use.
struct Gradient {
  std::span<const float> sum;
  double expected_lot;                   // divides it: the expected lot, never the realised one
  std::optional<double> noise_variance;  // of the noise in each coordinate of the sum, where it is known
};

class Update {
 public:
  virtual ~Update() = default;
  virtual void apply(std::span<float> parameters, const Gradient& gradient, double lr) = 0;
};

// InputError unless the gradient has the parameters' size.
void check_sizes(std::span<const float> parameters, const Gradient& gradient);

}  // namespace fodp
