#include "fodp/training/guarantee.h"

#include <algorithm>

#include "fodp/accounting/merged_events.h"

namespace fodp {

Events own_events(const Plan& plan, const Guarantee& guarantee) { return without(guarantee.events, plan.earlier().events); }

Guarantee guarantee(const Plan& plan, const Ledger& ledger, const Accountant& accountant) {
  Guarantee out{.events = ledger.committed(), .spent = plan.spent(), .spent_ideal = plan.spent_ideal(), .charged = ledger.events()};
  if (out.events != plan.events()) {
    out.spent = accountant.epsilon(out.events, plan.delta());
    out.spent_ideal = accountant.epsilon(ideal(out.events), plan.delta());
  }
  out.epsilon_if_stop_was_fixed = out.spent.epsilon;
  // A part costs no more than the whole; upper bounds on the two might, by rounding.
  if (!out.all_charged())
    out.epsilon_if_stop_was_fixed = std::min(out.spent.epsilon, accountant.epsilon(out.charged, plan.delta()).epsilon);
  return out;
}

}  // namespace fodp
