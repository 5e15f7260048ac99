// The tight accountant: privacy loss distributions, composed by Fourier transform. Answers are intervals that hold the truth under
// add/remove adjacency: `epsilon_lower <= truth <= epsilon`. The upper end is within a relative 1e-4 (or 1e-6) of the truth and the
// interval within 1%, as far as doubles carry it: up to some 1e8 steps. Beyond, the interval is wider and says so by its width; it is never
// invalid. Runs of very many unlike steps (schedules) are taken in groups (groups.h): their upper end is within some
// 1e-3 of the truth and their interval about 1% wide (4e-3 and 2% where rate and noise grow together).
//
// Compositions of plain Gaussians, and a single event, are exact (analytic.h). The larger of the two directions is reported; each is
// offered. Repeated questions about the same kinds of event reuse their grids, so that the epsilon of every prefix of a run is cheap.
// Safe to use from several threads.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/analytic.h"
#include "fodp/accounting/event.h"

namespace fodp {

class GridCache;
struct PldRun;

class PldAccountant : public Accountant {
 public:
  // `width` is the relative width that intervals may have; a smaller one costs time in proportion. In [1e-4, .5]. Of more than `most_kinds`
  // unlike sampled steps neighbours are taken together; each kind costs some 2 ms.
  explicit PldAccountant(double width = .01, std::size_t most_kinds = 96);
  ~PldAccountant() override;

  std::string name() const override { return "pld"; }

  // delta in [0, 1]. InputError for an event that is not known or out of range.
  Spent epsilon(const Events& events, double delta) const override;
  double upper_epsilon(const Events& events, double delta) const override;  // half the time of epsilon() where steps are taken in groups
  // epsilon >= 0, +inf allowed.
  Spent delta(const Events& events, double epsilon) const override;

  // One direction by itself.
  Spent epsilon(const Events& events, double delta, Direction direction) const;
  Spent delta(const Events& events, double epsilon, Direction direction) const;

 private:
  struct Found {
    Interval interval;
    double grid = 0;
  };
  enum class Ends { both, upper };
  // The larger ends over the directions: of epsilon at the delta `target`, or of delta at the epsilon `target`. Of groups the lower end is
  // another question, and 0 if that is not asked for.
  Found ask(const PldRun& run, double target, bool for_epsilon, std::span<const Direction> directions, Ends ends) const;
  Spent epsilon_of(const Events& events, double delta, std::span<const Direction> directions, Ends ends = Ends::both) const;
  Spent delta_of(const Events& events, double epsilon, std::span<const Direction> directions) const;

  double width_;
  std::size_t most_kinds_;
  std::unique_ptr<GridCache> grids_;
};

}  // namespace fodp
