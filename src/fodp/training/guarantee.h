// What a run guarantees, whether it came to the end of its plan or was left before.
#pragma once

#include "fodp/accounting/accountant.h"
#include "fodp/training/plan.h"

namespace fodp {

// The guarantee of a run that is stopped before its plan's end is the plan's. Most stops follow from something that was computed from the
// training data: a test accuracy, a loss, a look at the model. That a run stopped then tells something of the data, and the cost of the
// steps taken is too small a number. It holds only where the number of steps was fixed beforehand or came from elsewhere, such as a clock.
struct Guarantee {
  Events events;  // of earlier runs and this one: what was planned, or what was charged where that is more (Ledger::committed)
  Spent spent, spent_ideal;
  Events charged;                        // so far
  double epsilon_if_stop_was_fixed = 0;  // of what was charged; equal to spent.epsilon after the plan's last step

  bool all_charged() const { return total_count(charged) == total_count(events); }
  bool beyond(const Plan& plan) const { return total_count(events) > total_count(plan.events()); }  // more was charged than planned
};

// What the run itself costs: the guaranteed events without those of earlier runs.
Events own_events(const Plan& plan, const Guarantee& guarantee);

// `accountant` is of the plan's kind.
Guarantee guarantee(const Plan& plan, const Ledger& ledger, const Accountant& accountant);

}  // namespace fodp
