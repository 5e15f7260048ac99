#include "fodp/update/sgd.h"

#include "fodp/base/check.h"

namespace fodp {

void Sgd::apply(std::span<float> parameters, const Release& release, double expected_lot, double lr) {
  const std::span<const float> sum = release.values();
  check_input(sum.size() == parameters.size(), "a release of {} values cannot update {} parameters", sum.size(), parameters.size());
  const double scale = lr / expected_lot;
  for (std::size_t i = 0; i < sum.size(); ++i) parameters[i] = static_cast<float>(parameters[i] - scale * sum[i]);
}

}  // namespace fodp
