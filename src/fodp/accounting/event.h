// What a release costs, stated without the data: an immutable description that accountants compose and that nothing else can change.
//
// Adjacency is add/remove of one record. `noise_multiplier` is the standard deviation of the Gaussian noise over the sensitivity of the
// query it covers (for FO-DP-SGD sigma/beta: paper Theorem B.2). `slack` is the relative excess of the true sensitivity over that ideal
// one, which finite precision costs (docs/finite-precision.md): the charge is for noise_multiplier / (1 + slack).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fodp {

struct Event;

// The pair of distributions that accountants compose: N(0, z^2) against (1-q)*N(0, z^2) + q*N(1, z^2). Of a group of k records, each of
// which is drawn by itself, it is N(0, z^2) against the mixture over j ~ Binomial(k, q) of N(j, z^2) (docs/accounting.md).
struct SampledGaussian {
  double sample_rate = 1;       // q in (0, 1]
  double noise_multiplier = 1;  // z; 0 is no noise
  std::int64_t records = 1;     // k; above 1 only where group_epsilon() asks

  friend bool operator==(const SampledGaussian&, const SampledGaussian&) = default;
};

// A kind of event. A new one is a file of its own and a line in event_kinds.cpp.
struct EventKind {
  std::string_view name;   // in files
  std::string_view words;  // in statements
  // InputError for a value out of range.
  void (*check)(const Event& event);
  // Costs as much as the event or more, whatever it is composed with, for one record and for a group of them: accountants take it in the
  // event's place.
  SampledGaussian (*stands_for)(const Event& event);
};

std::span<const EventKind* const> event_kinds();
extern const EventKind kGaussianEvent;         // gaussian_event.cpp
extern const EventKind kPoissonGaussianEvent;  // poisson_gaussian_event.cpp

struct Event {
  const EventKind* kind = &kGaussianEvent;
  double sample_rate = 1;       // q in (0, 1]; 1 for gaussian
  double noise_multiplier = 0;  // z >= 0; 0 is no noise: infinite epsilon
  double slack = 0;             // >= 0

  // All throw InputError for a value out of range. A rate of 1 is the plain Gaussian.
  static Event gaussian(double noise_multiplier, double slack = 0);
  static Event poisson_gaussian(double sample_rate, double noise_multiplier, double slack = 0);
  SampledGaussian for_accountant() const;

  double charged_multiplier() const { return noise_multiplier / (1 + slack); }
  Event ideal() const;  // the same in exact arithmetic
  // Whether a charge for this event pays for a release that needs `needed`: it is of the same kind and no field of it is cheaper.
  bool covers(const Event& needed) const;

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
// Those of one kind, in their order.
Events of_kind(const Events& parts, const EventKind& kind);

}  // namespace fodp
