// Every record is in the query with a chance of its own, independently: the Gaussian mechanism on a Poisson sample.
#include "fodp/accounting/event.h"
#include "fodp/base/check.h"

namespace fodp {

extern const EventKind kPoissonGaussianEvent = {
    .name = "poisson_gaussian",
    .words = "Poisson-sampled Gaussian",
    .check =
        [](const Event& event) {
          check_input(event.sample_rate > 0 && event.sample_rate <= 1, "sample rate is {}: must be in (0, 1]", event.sample_rate);
          check_input(event.noise_multiplier >= 0, "noise multiplier is {}: must be at least 0", event.noise_multiplier);
        },
    .stands_for =
        [](const Event& event) {
          return SampledGaussian{event.sample_rate, event.charged_multiplier()};
        },
};

Event Event::poisson_gaussian(double sample_rate, double noise_multiplier, double slack) {
  const Event event{&kPoissonGaussianEvent, sample_rate, noise_multiplier, slack};
  event.for_accountant();
  return sample_rate == 1 ? gaussian(noise_multiplier, slack) : event;
}

}  // namespace fodp
