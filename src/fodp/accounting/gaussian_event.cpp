// Every record is in the query: the Gaussian mechanism.
#include "fodp/accounting/event.h"
#include "fodp/base/check.h"

namespace fodp {

extern const EventKind kGaussianEvent = {
    .name = "gaussian",
    .words = "Gaussian",
    .check =
        [](const Event& event) {
          check_input(event.sample_rate == 1, "sample rate is {}: must be 1 for a gaussian event", event.sample_rate);
          check_input(event.noise_multiplier >= 0, "noise multiplier is {}: must be at least 0", event.noise_multiplier);
        },
    .stands_for =
        [](const Event& event) {
          return SampledGaussian{1, event.charged_multiplier()};
        },
};

Event Event::gaussian(double noise_multiplier, double slack) {
  const Event event{&kGaussianEvent, 1, noise_multiplier, slack};
  event.for_accountant();
  return event;
}

}  // namespace fodp
