// The sum of a lot's clipped gradients, on the lattice, and bounded numbers from the same rows. Raw training data in all but name: only
// clipping makes one, it cannot be copied, and only a mechanism can open it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fodp {

// Coordinates [begin, end) of the vector, clipped together to this norm.
struct ClipGroup {
  std::int64_t begin, end;
  double clip_norm;
};

// How the rows of a sum were drawn: what its charge must be for.
struct Draw {
  Draw(double rate = 1) : sample_rate(rate) {}

  double sample_rate;        // the largest chance that any record has to be among the rows
  std::uint64_t ticket = 0;  // sums with one ticket are paid for by one charge
  std::int64_t queries = 1;  // how many sums are made of these very rows
  std::int64_t cycle = 1;    // a record can be in one of so many consecutive lots only (cyclic sampling)
  std::uint64_t source = 0;  // the sampler that drew them: a run takes lots of its own only
  std::uint64_t turn = 0;    // which of the lots of a cyclic run this is: its rows are of group turn mod cycle
};

// A number from the rows of a lot that one record moves by at most `sensitivity`, released with noise of its own.
struct BoundedScalar {
  std::string name;
  double sensitivity;
  double noise_multiplier;  // standard deviation of its noise over its sensitivity
};

class ClippedSum {
 public:
  ClippedSum(ClippedSum&&) noexcept = default;
  ClippedSum& operator=(ClippedSum&&) noexcept = default;
  ClippedSum(const ClippedSum&) = delete;
  ClippedSum& operator=(const ClippedSum&) = delete;

  std::int64_t size() const { return static_cast<std::int64_t>(lattice_.size()); }  // 0 if there are scalars only
  const Draw& draw() const { return draw_; }
  double sample_rate() const { return draw_.sample_rate; }
  double grid() const { return grid_; }
  const std::vector<ClipGroup>& groups() const { return groups_; }
  const std::vector<BoundedScalar>& scalars() const { return scalars_; }

  // The most that adding or removing one record moves the vector in exact arithmetic: sqrt(sum of squared group norms).
  double sensitivity() const;
  // What finite precision adds to it, relative (noise/lattice.h).
  double slack() const { return slack_; }

 private:
  friend class Clipper;
  friend class Mechanism;
  ClippedSum() = default;

  std::vector<std::int64_t> lattice_;  // in units of the grid
  std::vector<ClipGroup> groups_;
  std::vector<BoundedScalar> scalars_;
  std::vector<std::int64_t> scalar_lattice_;  // in units of scalar_grid(sensitivity)
  Draw draw_;
  double grid_ = 1;
  double slack_ = 0;
};

}  // namespace fodp
