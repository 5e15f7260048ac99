#include "fodp/update/sgd.h"

namespace fodp {

void Sgd::apply(std::span<float> parameters, const Gradient& gradient, double lr) {
  check_sizes(parameters, gradient);
  const double scale = lr / gradient.expected_lot;
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<float>(parameters[i] - scale * gradient.sum[i]);
}

extern const UpdateEntry kSgdUpdate = {
    .name = "sgd",
    .summary = "plain descent",
    .make = [](const RunContext&) -> std::unique_ptr<Update> { return std::make_unique<Sgd>(); },
};

}  // namespace fodp
