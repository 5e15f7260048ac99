// Cumulants of the privacy loss by quadrature: where the answer lies, and with which tilt and step to compute it. Good to many digits, but
// nothing is certified from it except through what is computed on the grid afterwards.
#pragma once

#include <vector>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/loss_grid.h"

namespace fodp {

class Cumulants {
 public:
  // As far out as `tail` of mass, of losses up to `highest`.
  Cumulants(const SampledGaussian& event, double tail, double highest);

  // K(s) = log E[exp(s * loss)] under the first distribution of the direction, and its first two derivatives.
  struct Value {
    double k = 0, mean = 0, variance = 0;
  };
  Value at(double s, Direction direction) const;

 private:
  std::vector<double> log_weight_, loss_;  // of nodes, under Q
};

// log of the largest of exp(-s*x) * (1 - exp(-x)) over x >= 0.
double log_largest_weight(double s);

// Of a run: the sum over its events.
struct CountedCumulants {
  Cumulants cumulants;
  double count;
};

class RunCumulants {
 public:
  explicit RunCumulants(std::vector<CountedCumulants> parts) : parts_(std::move(parts)) {}

  Cumulants::Value at(double s, Direction direction) const;

  // The tilt at which Chernoff's bound is least, and that bound: on epsilon at a delta, or on log delta at an epsilon.
  struct Tilt {
    double s = 0, bound = 0;
  };
  Tilt for_delta(double delta, Direction direction) const;
  Tilt for_epsilon(double epsilon, Direction direction) const;

  // A tilt up to `most` under which the sum is spread less, at a price in Chernoff's bound that is worth it: where rare large losses, not
  // those near epsilon, would draw the tilted mass.
  double narrow(double most, double epsilon, Direction direction) const;

  // How far from its mean the tilted sum goes, but for a chance of exp(-unlikely), by Chernoff's bound. A `heavy` tail, of rare losses far
  // above the deviation, takes more time to bound.
  struct Reach {
    double left, right;
    double both() const { return left > right ? left : right; }
  };
  Reach reach(double s, double unlikely, Direction direction, bool heavy = false) const;
  // How far below 0 the sum goes under the second distribution, but for that chance.
  double depth(double unlikely, Direction direction) const;

 private:
  template <class F>
  Tilt least(const F& f, Direction direction) const;

  std::vector<CountedCumulants> parts_;
};

}  // namespace fodp
