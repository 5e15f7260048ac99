// Chernoff's bounds on how far a sum of independent losses on a grid goes, at a ladder of rates. Offsets are in steps of the grid, from
// where the sum would be if each loss were at its middle.
#pragma once

#include <cstddef>
#include <vector>

namespace fodp {

class TailBounds {
 public:
  struct Rate {
    double value;                        // per unit of loss
    double log_right = 0, log_left = 0;  // log E[exp(+-value * sum)]
  };

  // `deviation` is about that of the sum. Rare losses may be far larger than that: `furthest` is how far out a heavy tail must be bounded,
  // 0 for a light one.
  TailBounds(double deviation, double step, double furthest);

  // `count` losses with these masses, which add up to 1, at consecutive points of the grid; `middle` is one of these points. A sum against
  // the grid (`upward` false) takes each loss with its sign turned.
  void add(const std::vector<double>& masses, std::size_t middle, bool upward, double count);

  double right_of(double offset) const;  // the chance of at least this offset, from above
  double left_of(double offset) const;   // of at most this one

  // The offset beyond which less than exp(-unlikely) lies: on the right, and on the left with its sign turned.
  double right_reach(double unlikely) const;
  double left_reach(double unlikely) const;

  const std::vector<Rate>& rates() const { return rates_; }

 private:
  double step_;
  std::vector<Rate> rates_;
};

}  // namespace fodp
