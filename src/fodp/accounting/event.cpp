#include "fodp/accounting/event.h"

#include "fodp/base/check.h"

namespace fodp {
namespace {

void check_common(double noise_multiplier, double slack) {
  check_input(noise_multiplier >= 0, "noise multiplier is {}: must be at least 0", noise_multiplier);
  check_input(slack >= 0 && slack < 1, "sensitivity slack is {}: must be in [0, 1)", slack);
}

}  // namespace

Event Event::gaussian(double noise_multiplier, double slack) {
  check_common(noise_multiplier, slack);
  return {.kind = Kind::gaussian, .sample_rate = 1, .noise_multiplier = noise_multiplier, .slack = slack};
}

Event Event::poisson_gaussian(double sample_rate, double noise_multiplier, double slack) {
  check_input(sample_rate > 0 && sample_rate <= 1, "sample rate is {}: must be in (0, 1]", sample_rate);
  if (sample_rate == 1) return gaussian(noise_multiplier, slack);
  check_common(noise_multiplier, slack);
  return {.kind = Kind::poisson_gaussian, .sample_rate = sample_rate, .noise_multiplier = noise_multiplier, .slack = slack};
}

Event Event::ideal() const {
  Event exact = *this;
  exact.slack = 0;
  return exact;
}

bool Event::covers(const Event& needed) const {
  return kind == needed.kind && sample_rate >= needed.sample_rate && charged_multiplier() <= needed.charged_multiplier() &&
         slack >= needed.slack;
}

std::string Event::kind_name() const { return kind == Kind::gaussian ? "gaussian" : "poisson_gaussian"; }

Events ideal(const Events& parts) {
  Events exact = parts;
  for (Composed& part : exact) part.event = part.event.ideal();
  return exact;
}

std::int64_t total_count(const Events& parts) {
  std::int64_t total = 0;
  for (const Composed& part : parts) total += part.count;
  return total;
}

}  // namespace fodp
