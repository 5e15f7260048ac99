#include "fodp/mechanism/clipped_sum.h"

#include <cmath>

#include "fodp/base/check.h"

namespace fodp {

ClippedSum ClippedSum::vouching_that_rows_are_clipped(ClippedRows rows) {
  check_input(rows.scalars.size() == rows.scalar_lattice.size(), "clipped sum: {} numbers are described and {} given", rows.scalars.size(),
              rows.scalar_lattice.size());
  check_input(rows.grid > 0 && rows.slack >= 0, "clipped sum: grid is {} and slack {}: the first must be above 0, the other at least 0",
              rows.grid, rows.slack);
  std::int64_t end = 0;
  for (const ClipGroup& group : rows.groups) {
    check_input(group.begin == end && group.end >= group.begin && group.clip_norm > 0,
                "clipped sum: group [{}, {}) with clip norm {}: groups must follow each other and have norms above 0", group.begin,
                group.end, group.clip_norm);
    end = group.end;
  }
  check_input(end == static_cast<std::int64_t>(rows.lattice.size()), "clipped sum: the groups cover {} of {} coordinates", end,
              rows.lattice.size());
  return ClippedSum(std::move(rows));
}

double ClippedSum::sensitivity() const {
  double squared = 0;
  for (const ClipGroup& group : rows_.groups) squared += group.clip_norm * group.clip_norm;
  return std::sqrt(squared);
}

}  // namespace fodp
