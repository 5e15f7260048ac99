#include "fodp/mechanism/release_table.h"

namespace fodp {

// Every mechanism, in the order of the lists people see: one line each. The first is that of a method that names none.
#define FODP_RELEASES(M, Entry) \
  M(Entry, kGaussianRelease)    \
  M(Entry, kFractionalRelease)  \
  M(Entry, kSpectralRelease)    \
  M(Entry, kBandedRelease)

FODP_TABLE(release_table, ReleaseEntry, FODP_RELEASES)

}  // namespace fodp
