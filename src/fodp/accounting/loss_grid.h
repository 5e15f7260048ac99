// The privacy loss of one event on a grid, made pessimistic: a pair of discrete distributions (P, Q) with losses j*step that is at least as
// far apart as the true pair in both directions, so that what is computed from it is an upper bound.
//
// P is the mixture (1-q)*N(0, z^2) + q*N(1, z^2), Q is N(0, z^2). Connect the dots (Doroshenko et al. 2022): what falls between two grid
// points goes to these two, so that its mass under P and under Q is kept. The spread of one outcome is at most one step and its mean of
// exp(-spread) is 1, hence an error of order step^2. A Gaussian has q = 1. Of a group of records P is another mixture (group_loss.h).
#pragma once

#include <cstdint>
#include <vector>

#include "fodp/accounting/event.h"

namespace fodp {

// Privacy loss log dP/dQ where the noise is t standard deviations, and the largest t where it is still below `loss` (-inf: nowhere).
double loss_at(const SampledGaussian& event, double t);
double deviation_at(const SampledGaussian& event, double loss);

// The range of t outside which P (above) and Q (below, if the loss is not bounded there) have no more than this mass.
struct Deviations {
  double low, high;
};
Deviations deviations(const SampledGaussian& event, double tail);

// What lies beyond an end of a grid: its mass under P and Q, and the log of the mass under Q that it has where it is moved to the end so
// that the mass which the nearer direction sees is kept (under P below, under Q above).
struct Beyond {
  double p = 0, q = 0;
  double log_moved = 0;
};

struct LossGrid {
  double step = 0;
  std::int64_t first = 0;     // the loss of log_q[i] is (first + i) * step
  std::vector<double> log_q;  // log of the mass under Q; that under P is exp(loss) times as much
  Beyond below, above;        // not in log_q
  double mass_error = 0;      // each mass is between the exact one and exp(mass_error) times it
  double loss_error = 0;      // each loss is known to this

  std::int64_t last() const { return first + static_cast<std::int64_t>(log_q.size()) - 1; }
};

// The grid ends where no more than `tail` lies beyond, or at the loss `highest` (above 0).
double grid_points(const SampledGaussian& event, double step, double tail, double highest);  // how many it would have
LossGrid make_loss_grid(const SampledGaussian& event, double step, double tail, double highest);

// Of a step that tosses a public coin: `high` with chance `share`, else `low`. Losses are mixed as they are, on one grid that holds both.
LossGrid make_mixed_grid(const SampledGaussian& low, const SampledGaussian& high, double share, double step, double tail, double highest);

}  // namespace fodp
