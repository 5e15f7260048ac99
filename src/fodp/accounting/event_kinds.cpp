// The kinds of events, in the order in which files and statements list them.
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
