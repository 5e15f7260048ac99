#include "fodp/update/filter.h"

namespace fodp {

// Every filter, in the order of the lists people see: one line each. The first is that of a method that names none.
#define FODP_FILTERS(M, Entry) \
  M(Entry, kNoFilter)          \
  M(Entry, kLowPassFilter)     \
  M(Entry, kMemoryFilter)      \
  M(Entry, kKalmanFilter)      \
  M(Entry, kSpatialFilter)

FODP_TABLE(filter_table, FilterEntry, FODP_FILTERS)

extern const FilterEntry kNoFilter = {.name = "none", .summary = "releases go to the update as they are"};

}  // namespace fodp
