#include "fodp/update/sgd.h"

#include "fodp/base/wide.h"

namespace fodp {
namespace {

FODP_WIDE void descend(double scale, const float* gradient, float* parameters, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) parameters[i] = static_cast<float>(parameters[i] - scale * gradient[i]);
}

}  // namespace

void Sgd::apply(std::span<float> parameters, const Gradient& gradient, double lr) {
  check_sizes(parameters, gradient);
  descend(lr / gradient.expected_lot, gradient.sum.data(), parameters.data(), parameters.size());
}

extern const UpdateEntry kSgdUpdate = {
    .name = "sgd",
    .summary = "plain descent",
    .make = [](const RunContext&) -> std::unique_ptr<Update> { return std::make_unique<Sgd>(); },
};

}  // namespace fodp
