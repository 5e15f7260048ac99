// The sum of a lot's clipped gradients, on the lattice. Raw training data in all but name: only clipping makes one, it cannot be copied,
// and only a mechanism can open it.
#pragma once

#include <cstdint>
#include <vector>

namespace fodp {

// Coordinates [begin, end) of the vector, clipped together to this norm.
struct ClipGroup {
  std::int64_t begin, end;
  double clip_norm;
};

class ClippedSum {
 public:
  ClippedSum(ClippedSum&&) noexcept = default;
  ClippedSum& operator=(ClippedSum&&) noexcept = default;
  ClippedSum(const ClippedSum&) = delete;
  ClippedSum& operator=(const ClippedSum&) = delete;

  std::int64_t size() const { return static_cast<std::int64_t>(lattice_.size()); }
  double sample_rate() const { return sample_rate_; }
  double grid() const { return grid_; }
  const std::vector<ClipGroup>& groups() const { return groups_; }

  // The most that adding or removing one record moves the sum in exact arithmetic: sqrt(sum of squared group norms).
  double sensitivity() const;
  // What finite precision adds to it, relative (noise/lattice.h).
  double slack() const { return slack_; }

 private:
  friend class Clipper;
  friend class Mechanism;
  ClippedSum() = default;

  std::vector<std::int64_t> lattice_;  // in units of the grid
  std::vector<ClipGroup> groups_;
  double sample_rate_ = 1;
  double grid_ = 1;
  double slack_ = 0;
};

}  // namespace fodp
