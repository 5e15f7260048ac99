#include "fodp/update/filter.h"

#include "fodp/update/kalman.h"
#include "fodp/update/low_pass.h"
#include "fodp/update/memory_filter.h"

namespace fodp {

std::unique_ptr<Filter> make_filter(FilterKind kind, const LowPassOptions& low_pass, const KalmanOptions& kalman,
                                    const FractionalParameters& memory, const Schedule& beta, std::int64_t steps) {
  switch (kind) {
    case FilterKind::none:
      break;
    case FilterKind::low_pass:
      return std::make_unique<LowPass>(low_pass);
    case FilterKind::memory:
      return std::make_unique<MemoryFilter>(memory, beta, steps);
    case FilterKind::kalman:
      return std::make_unique<Kalman>(kalman);
  }
  return nullptr;
}

}  // namespace fodp
