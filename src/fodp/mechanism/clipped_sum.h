// The sum of a lot's clipped gradients, on the lattice, and bounded numbers from the same rows. Raw training data in all but name: it
// cannot be copied, and only a mechanism can open it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fodp/accounting/draw.h"

namespace fodp {

// Coordinates [begin, end) of the vector, clipped together to this norm.
struct ClipGroup {
  std::int64_t begin, end;
  double clip_norm;
};

// A number from the rows of a lot that one record moves by at most `sensitivity`, released with noise of its own.
struct BoundedScalar {
  std::string name;
  double sensitivity;
  double noise_multiplier;  // standard deviation of its noise over its sensitivity
};

// The parts of a clipped sum. The clipper (gradients/clip.h) makes them; so may a front end or a rank that clips by itself.
struct ClippedRows {
  std::vector<std::int64_t> lattice;  // the vector, in units of the grid (noise/lattice.h)
  std::vector<ClipGroup> groups;
  std::vector<BoundedScalar> scalars;
  std::vector<std::int64_t> scalar_lattice;  // in units of scalar_grid(sensitivity)
  Draw draw;                                 // if left as it is, every record may be among the rows, which costs the most
  double grid = 1;
  double slack = 0;  // what finite precision adds to the sensitivity, relative
};

class ClippedSum {
 public:
  // Nothing here can check it: the caller vouches that adding or removing one record moves each group of the vector by at most its clip
  // norm times (1 + slack) and each number by at most its sensitivity, and that the rows were drawn as `draw` says. InputError for parts
  // that do not fit each other.
  static ClippedSum vouching_that_rows_are_clipped(ClippedRows rows);

  ClippedSum(ClippedSum&&) noexcept = default;
  ClippedSum& operator=(ClippedSum&&) noexcept = default;
  ClippedSum(const ClippedSum&) = delete;
  ClippedSum& operator=(const ClippedSum&) = delete;

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.lattice.size()); }  // 0 if there are scalars only
  const Draw& draw() const { return rows_.draw; }
  double sample_rate() const { return rows_.draw.sample_rate(); }
  double grid() const { return rows_.grid; }
  const std::vector<ClipGroup>& groups() const { return rows_.groups; }
  const std::vector<BoundedScalar>& scalars() const { return rows_.scalars; }

  // The most that adding or removing one record moves the vector in exact arithmetic: the root of the groups' squared clip norms.
  double sensitivity() const;
  double slack() const { return rows_.slack; }

 private:
  friend class Mechanism;
  explicit ClippedSum(ClippedRows rows) : rows_(std::move(rows)) {}

  ClippedRows rows_;
};

}  // namespace fodp
