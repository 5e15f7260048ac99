// The kinds of events, in the order in which files and statements list them. A saved state refers to a kind by its place: a new one goes
// last.
#include "fodp/accounting/event.h"

namespace fodp {

std::span<const EventKind* const> event_kinds() {
  static const EventKind* const kinds[] = {
      &kPoissonGaussianEvent,
      &kGaussianEvent,
  };
  return kinds;
}

}  // namespace fodp
