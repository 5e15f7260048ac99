#include "fodp/accounting/ledger.h"

#include <algorithm>
#include <utility>

#include "fodp/base/check.h"

namespace fodp {
namespace {

void append(Events& events, const Composed& part) {
  if (part.count == 0) return;
  if (!events.empty() && events.back().event == part.event)
    events.back().count += part.count;
  else
    events.push_back(part);
}

}  // namespace

Charge::Charge(Charge&& other) noexcept : event_(other.event_), number_(other.number_), spent_(std::exchange(other.spent_, true)) {}

void Charge::spend() {
  check_privacy(!spent_, "charge {} ({}) is spent or was given away: each release needs a charge of its own", number_, event_.kind_name());
  spent_ = true;
}

Ledger::Ledger(Budget budget, const Accountant& accountant) : budget_(budget), accountant_(&accountant) {
  check_input(budget.epsilon >= 0, "budget epsilon is {}: must be at least 0", budget.epsilon);
  check_input(budget.delta >= 0 && budget.delta < 1, "budget delta is {}: must be in [0, 1)", budget.delta);
}

void Ledger::plan(const Events& events) {
  Events whole = events_, planned;
  for (const Composed& part : events) {
    check_input(part.count >= 0, "planned count of a {} event is {}: must be at least 0", part.event.kind_name(), part.count);
    append(whole, part);
    append(planned, part);
  }
  if (budget_) {
    const double epsilon = accountant_->epsilon(whole, budget_->delta).epsilon;
    check_privacy(epsilon <= budget_->epsilon, "plan of {} events after {} would cost epsilon {} at delta {}: the budget is {}",
                  total_count(events), count_, epsilon, budget_->delta, budget_->epsilon);
  }
  std::reverse(planned.begin(), planned.end());  // the next event is the last: taking it is cheap
  planned_ = std::move(planned);
}

bool Ledger::next_planned(const Event& event) const { return !planned_.empty() && planned_.back().event == event; }

void Ledger::check_budget(const Event& event) const {
  if (!budget_) return;
  Events whole = events_;
  append(whole, {event, 1});
  const double epsilon = accountant_->epsilon(whole, budget_->delta).epsilon;
  check_privacy(epsilon <= budget_->epsilon, "event {} ({}) would bring epsilon to {} at delta {}: the budget is {}", count_,
                event.kind_name(), epsilon, budget_->delta, budget_->epsilon);
}

Charge Ledger::charge(const Event& event) {
  const bool planned = next_planned(event);
  if (!planned) check_budget(event);
  if (journal_) journal_(count_, event);

  append(events_, {event, 1});
  if (!planned)
    planned_.clear();
  else if (--planned_.back().count == 0)
    planned_.pop_back();
  return Charge(event, count_++);
}

}  // namespace fodp
