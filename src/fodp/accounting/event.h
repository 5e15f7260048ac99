// What a release costs, stated without the data: an immutable description that accountants compose and that nothing else can change.
//
// Adjacency is add/remove of one record. `noise_multiplier` is the standard deviation of the Gaussian noise over the sensitivity of the
// query it covers (for FO-DP-SGD sigma/beta: paper Theorem B.2). `slack` is the relative excess of the true sensitivity over that ideal
// one, which finite precision costs (docs/finite-precision.md): the charge is for noise_multiplier / (1 + slack).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fodp {

struct Event {
  enum class Kind { gaussian, poisson_gaussian };

  Kind kind = Kind::gaussian;
  double sample_rate = 1;       // q in (0, 1]; 1 for gaussian
  double noise_multiplier = 0;  // z >= 0; 0 is no noise: infinite epsilon
  double slack = 0;             // >= 0

  // Both throw InputError for a value out of range. A rate of 1 is the plain Gaussian.
  static Event gaussian(double noise_multiplier, double slack = 0);
  static Event poisson_gaussian(double sample_rate, double noise_multiplier, double slack = 0);

  double charged_multiplier() const { return noise_multiplier / (1 + slack); }
  Event ideal() const;  // the same in exact arithmetic
  // Whether a charge for this event pays for a release that needs `needed`: it is of the same kind and no field of it is cheaper.
  bool covers(const Event& needed) const;
  std::string kind_name() const;

  friend bool operator==(const Event&, const Event&) = default;
};

// The same event `count` times; a run is a list of these, in the order they happen.
struct Composed {
  Event event;
  std::int64_t count = 0;

  friend bool operator==(const Composed&, const Composed&) = default;
};

using Events = std::vector<Composed>;

// The events of `parts` in exact arithmetic.
Events ideal(const Events& parts);
std::int64_t total_count(const Events& parts);

}  // namespace fodp
