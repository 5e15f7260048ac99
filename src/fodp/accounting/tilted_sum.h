// The distribution of the privacy loss of a composition, on the grid, under an exponential tilt: each mass is weighed by exp(s * loss), so
// that what delta is made of has mass of order 1 and no error of the transform is large beside it, however small delta is.
//
// With K = log E[exp(s * loss)] of the run and p the tilted masses,
//   delta(epsilon) = exp(K - s*epsilon) * sum over losses l > epsilon of p(l) * exp(-s*(l-epsilon)) * (1 - exp(-(l-epsilon))).
// Every error is bounded: rounding of the masses, the transform and its powers, what wraps around the ends, what the grid leaves out. The
// lower end of an interval also gives back what the grid adds. docs/accounting.md derives each.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/convolve.h"
#include "fodp/accounting/loss_grid.h"
#include "fodp/accounting/tail_bounds.h"

namespace fodp {

class TiltedSum {
 public:
  // Of grids with this step; `deviation` is about that of the tilted sum: only the quality of the bounds depends on it. The window has
  // `size` points around the mean of the tilted sum. If it is to lie around a loss near which the answer is, it may be half as large
  // for a sum with a heavy tail: what leaves it comes back where it counts for nothing, or little.
  TiltedSum(Direction direction, double s, double step, double deviation, std::size_t size, std::optional<double> around = {});

  void add(const LossGrid& grid, double count);
  void finish();  // composes what was added

  // An interval that holds the truth, in this direction; upper may be +inf where nothing can be certified. `size` is what would keep the
  // mass outside the window negligible beside what delta is made of. `error_share` is the error of the transforms and the window beside
  // that.
  struct Answer {
    Interval interval;
    double size = 0, error_share = 0;
  };
  Answer epsilon(double delta, double most) const;  // delta in (0, 1); the upper end is sought up to `most`
  Answer delta(double epsilon) const;               // epsilon >= 0

 private:
  struct Tail {  // at a grid point: the sums over all points above it
    double weighed = 0, decayed = 0;
  };
  struct Place {  // a grid point, in steps from the centre of the window
    double offset = 0;
    Tail tail;
  };
  struct Tilted {
    std::vector<double> masses;  // of the points of a grid, adding up to 1
    double mean = 0;             // the nearest point, in steps
  };
  Tilted tilt(const LossGrid& grid, double count);
  void place(const Tilted& tilted, double first, double count);
  void multiply_power(double count);
  double transform_error(double norm, bool by_frequency) const;
  double error_at(double loss, bool sharper) const;
  bool simple_will_do(double loss, double weighed) const;
  double outside_at(double loss) const;
  double loss(double offset) const { return (centre_ + shift_ + offset) * step_; }
  double mass(double offset) const;
  Tail next_below(const Tail& above, double mass) const;
  Place last_above(double epsilon) const;
  double give_back(double weighed, double share) const;
  Interval beyond(double epsilon) const;
  double size_for(double weighed, double loss) const;
  template <class F>
  double crossing(const F& excess, double most, bool upper) const;

  Direction direction_;
  double s_, step_;
  std::optional<double> around_;
  RealFourier fourier_;
  TailBounds tails_;
  std::vector<double> values_;
  std::vector<Complex> spectrum_, product_;

  double log_total_ = 0;           // K
  double log_error_ = 0;           // of K, and of all masses together
  double count_ = 0;               // events
  double centre_ = 0, shift_ = 0;  // of the window and of the grids, in steps
  double power_error_ = 0, growth_ = 0;
  struct Kind {  // what rounding does to the power of one kind's transform: in the Euclidean norm, and at any frequency beside the power
    double count, norm_error, uniform_error = 0;
  };
  std::vector<Kind> kinds_;
  double log_p_within_ = 0, log_q_within_ = 0;  // chance that no loss is above its grid
  double moved_ = 0, moved_tilted_ = 0;         // mass that was moved up to the lower end of its grid
  double loss_error_ = 0;
  double error_ = 0;          // of a weighed sum
  double sharper_error_ = 0;  // the same without what the window does
  struct Far {                // of one kind of event: mass above its grid, and where that ends
    double p, q, edge;
  };
  std::vector<Far> far_;
  double far_q_ = 0;
  std::vector<double> far_below_;  // at each rate of tails_: a bound on what is below epsilon in spite of a loss above its grid
};

}  // namespace fodp
