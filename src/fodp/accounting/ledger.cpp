#include "fodp/accounting/ledger.h"

#include <limits>
#include <utility>

#include "fodp/base/check.h"

namespace fodp {
namespace {

template <class... Args>
void check_within(bool holds, fmt::format_string<Args...> message, Args&&... args) {
  if (!holds) throw BudgetError(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace

Charge::Charge(Charge&& other) noexcept
    : event_(other.event_),
      ledger_(other.ledger_),
      number_(other.number_),
      releases_(other.releases_),
      spent_(std::exchange(other.spent_, other.releases_)),
      ticket_(other.ticket_) {}

std::uint64_t Charge::spend(std::uint64_t ticket) {
  check_privacy(!used_up(), "charge {} ({}, {} releases) is spent or was given away: each release needs a charge", number_,
                event_.kind->name, releases_);
  check_privacy(spent_ == 0 || ticket == ticket_, "charge {} ({}) is for {}, not for {}: what is charged as one may not change", number_,
                event_.kind->name, ticket_, ticket);
  ticket_ = ticket;
  return number_ + static_cast<std::uint64_t>(spent_++);
}

Ledger::Ledger(Budget budget, const Accountant& accountant) : budget_(budget), accountant_(&accountant) {
  check_input(budget.epsilon >= 0, "budget epsilon is {}: must be at least 0", budget.epsilon);
  check_input(budget.delta >= 0 && budget.delta < 1, "budget delta is {}: must be in [0, 1)", budget.delta);
}

void Ledger::spent_before(const Events& events) {
  check_input(count_ == 0 && planned_.empty(), "ledger with {} releases and {} planned kinds of event: what was spent before comes first",
              count_, planned_.size());
  for (const Composed& part : events) {
    part.event.for_accountant();  // checks it
    check_input(part.count >= 0, "count of a {} event that was spent before is {}: must be at least 0", part.event.kind->name, part.count);
  }
  before_ = together(before_, events);
  charged_.add(events);
  committed_.add(events);
}

void Ledger::plan(const Events& events) {
  std::unordered_map<Event, std::int64_t, EventHash> planned;
  MergedEvents whole = charged_;
  for (const Composed& part : events) {
    check_input(part.count >= 0, "planned count of a {} event is {}: must be at least 0", part.event.kind->name, part.count);
    if (part.count == 0) continue;
    whole.add(part.event, part.count);
    planned[part.event] += part.count;
  }
  if (budget_) {
    const double epsilon = accountant_->epsilon(whole.events(), budget_->delta).epsilon;
    check_within(epsilon <= budget_->epsilon, "plan of {} events after {} would cost epsilon {} at delta {}: the budget is {}",
                 total_count(events), total_count(charged_.events()), epsilon, budget_->delta, budget_->epsilon);
  }
  planned_ = std::move(planned);
  committed_ = std::move(whole);
}

void Ledger::add_lost(const Events& events) {
  charged_.add(events);
  for (const Composed& part : events) committed_.raise(part.event, charged_.count(part.event));
}

Events Ledger::to_come() const { return without(committed(), events()); }
Events Ledger::own_events() const { return without(events(), before_); }

void Ledger::check_budget(const Event& event) const {
  if (!budget_) return;
  MergedEvents whole = committed_;
  whole.raise(event, charged_.count(event) + 1);
  const double epsilon = accountant_->epsilon(whole.events(), budget_->delta).epsilon;
  check_within(epsilon <= budget_->epsilon, "event {} ({}), which is not planned, would bring epsilon to {} at delta {}: the budget is {}",
               total_count(charged_.events()), event.kind->name, epsilon, budget_->delta, budget_->epsilon);
}

Charge Ledger::charge(const Event& event, std::int64_t releases) {
  check_input(releases >= 1, "releases of a charge is {}: must be at least 1", releases);
  const auto more = static_cast<std::uint64_t>(releases);
  check_privacy(more <= std::numeric_limits<std::uint64_t>::max() - count_, "{} releases after {}: their numbers would repeat", releases,
                count_);
  const auto planned = planned_.find(event);
  const bool follows = planned != planned_.end();
  if (!follows) check_budget(event);
  if (journal_) journal_({count_, releases, event});

  charged_.add(event, 1);
  committed_.raise(event, charged_.count(event));
  if (follows && --planned->second == 0) planned_.erase(planned);
  const std::uint64_t number = std::exchange(count_, count_ + more);
  handed_out_ = count_;
  return Charge(event, id_, number, releases);
}

void Ledger::rebuild(std::span<const LedgerRecord> records) {
  check_input(count_ == 0 && planned_.empty(), "ledger with {} releases and {} planned kinds of event: only an empty one can be rebuilt",
              count_, planned_.size());
  MergedEvents charged;
  charged.add(before_);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& [first_number, releases, event] = records[i];
    check_input(first_number == count, "ledger record {}: its first release is {}: must be {}, the next after the record before", i + 1,
                first_number, count);
    check_input(releases >= 1, "ledger record {}: releases is {}: must be at least 1", i + 1, releases);
    check_input(static_cast<std::uint64_t>(releases) <= std::numeric_limits<std::uint64_t>::max() - count,
                "ledger record {}: {} releases after {}: their numbers would repeat", i + 1, releases, count);
    charged.add(event, 1);
    count += static_cast<std::uint64_t>(releases);
  }
  committed_ = charged_ = std::move(charged);
  count_ = count;
}

}  // namespace fodp
