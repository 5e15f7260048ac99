#include "fodp/accounting/event.h"

#include <algorithm>
#include <iterator>

#include "fodp/base/check.h"

namespace fodp {

SampledGaussian Event::for_accountant() const {
  check_input(kind != nullptr, "an event without a kind");
  kind->check(*this);
  check_input(slack >= 0 && slack < 1, "sensitivity slack is {}: must be in [0, 1)", slack);
  return kind->stands_for(*this);
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

Events of_kind(const Events& parts, const EventKind& kind) {
  Events alike;
  std::ranges::copy_if(parts, std::back_inserter(alike), [&](const Composed& part) { return part.event.kind == &kind; });
  return alike;
}

}  // namespace fodp
