// What is asked of the rows of a lot: the sum of their clipped gradients, or of weighted ones, and bounded numbers. The clipper
// (clip.h) gives each row's facts to the query and bounds what it answers, so that no query can move a release by more than it declares.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fodp {

// What is known of one row when it is asked about: raw training data.
struct RowFacts {
  double norm = 0;         // of its whole gradient, as clipping sees it; not finite if the gradient is not
  double bounded = 0;      // of its whole gradient after clipping; 0 for a gradient that is not finite
  double unclipped = 0;    // the share of its clip groups that clipping leaves as they are
  double loss = 0;         // at the present parameters
  double loss_before = 0;  // at Query::before()
  double coin = 0;         // uniform in [0, 1), the row's own
};

// A number that is released beside a sum, or by itself.
struct Number {
  std::string name;
  double bound;             // each row's part is clipped to [-bound, bound]; or the whole sum is, if of_total
  double noise_multiplier;  // standard deviation of its noise over its sensitivity: bound, or 2*bound if of_total
  bool of_total = false;
  double divisor = 1;  // of the sum, where the total is bounded
};

class Query {
 public:
  virtual ~Query() = default;

  // How much of a row is looked at: its loss by a forward pass alone, its gradient's norm too, or the gradient that is summed.
  enum class Depth { losses, norms, gradients };
  virtual Depth depth() const { return Depth::gradients; }

  // With a length, a row that is kept counts with a gradient of exactly that length, and others do not count; whole gradients only.
  // Without, every row counts with its clipped gradient.
  virtual std::optional<double> length() const { return {}; }
  virtual bool keeps(const RowFacts&) const { return true; }
  virtual bool draws_coins() const { return false; }

  // The numbers asked for, and what a row adds to the one at this index.
  virtual std::vector<Number> numbers() const { return {}; }
  virtual double part(std::size_t /*number*/, const RowFacts&) const { return 0; }

  // Other parameters to take each row's loss at; none if empty.
  virtual std::span<const float> before() const { return {}; }
};

}  // namespace fodp
