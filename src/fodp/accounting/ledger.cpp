#include "fodp/accounting/ledger.h"

#include <limits>
#include <utility>

#include "fodp/base/check.h"

namespace fodp {

Charge::Charge(Charge&& other) noexcept
    : event_(other.event_),
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

std::size_t Ledger::Hash::operator()(const Event& event) const {
  std::size_t hash = std::hash<const EventKind*>()(event.kind);
  for (double number : {event.sample_rate, event.noise_multiplier, event.slack}) hash = hash * 1000003 + std::hash<double>()(number);
  return hash;
}

void Ledger::Merged::add(const Event& event, std::int64_t count) {
  if (count == 0) return;
  // A run of equal events needs no search.
  if (!events_.empty() && events_.back().event == event) {
    events_.back().count += count;
    return;
  }
  const auto [found, is_new] = places_.try_emplace(event, events_.size());
  if (is_new)
    events_.push_back({event, count});
  else
    events_[found->second].count += count;
}

Ledger::Ledger(Budget budget, const Accountant& accountant) : budget_(budget), accountant_(&accountant) {
  check_input(budget.epsilon >= 0, "budget epsilon is {}: must be at least 0", budget.epsilon);
  check_input(budget.delta >= 0 && budget.delta < 1, "budget delta is {}: must be in [0, 1)", budget.delta);
}

void Ledger::plan(const Events& events) {
  std::unordered_map<Event, std::int64_t, Hash> planned;
  Merged whole = charged_;
  for (const Composed& part : events) {
    check_input(part.count >= 0, "planned count of a {} event is {}: must be at least 0", part.event.kind->name, part.count);
    if (part.count == 0) continue;
    whole.add(part.event, part.count);
    planned[part.event] += part.count;
  }
  if (budget_) {
    const double epsilon = accountant_->epsilon(whole.events(), budget_->delta).epsilon;
    check_privacy(epsilon <= budget_->epsilon, "plan of {} events after {} would cost epsilon {} at delta {}: the budget is {}",
                  total_count(events), total_count(charged_.events()), epsilon, budget_->delta, budget_->epsilon);
  }
  planned_ = std::move(planned);
}

void Ledger::check_budget(const Event& event) const {
  if (!budget_) return;
  Merged whole = charged_;
  whole.add(event, 1);
  const double epsilon = accountant_->epsilon(whole.events(), budget_->delta).epsilon;
  check_privacy(epsilon <= budget_->epsilon, "event {} ({}) would bring epsilon to {} at delta {}: the budget is {}",
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
  if (!follows)
    planned_.clear();
  else if (--planned->second == 0)
    planned_.erase(planned);
  return Charge(event, std::exchange(count_, count_ + more), releases);
}

void Ledger::rebuild(std::span<const LedgerRecord> records) {
  check_input(count_ == 0 && planned_.empty(), "ledger with {} releases and {} planned kinds of event: only an empty one can be rebuilt",
              count_, planned_.size());
  Merged charged;
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
  charged_ = std::move(charged);
  count_ = count;
}

}  // namespace fodp
