// The ledger of a run: every event is written here before its release exists. The only maker of a Charge.
//
// A Charge is the permission to make one release. It names the event it was made for and its number in the ledger, which also indexes the
// noise (noise/stream.h), so that no two releases of a run share random bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"

namespace fodp {

class Charge {
 public:
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&&) = delete;
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  const Event& event() const { return event_; }
  std::uint64_t number() const { return number_; }

  // A charge pays for one release: the mechanism that opens the data takes it. PrivacyError the second time.
  void spend();

 private:
  friend class Ledger;
  Charge(const Event& event, std::uint64_t number) : event_(event), number_(number) {}

  Event event_;
  std::uint64_t number_;
  bool spent_ = false;
};

// A limit that is never exceeded: a charge that would pass it is refused before anything is recorded.
struct Budget {
  double epsilon = 0;
  double delta = 0;
};

class Ledger {
 public:
  // Called with each event before its charge exists; a record on disk goes here. If it throws, there is no charge.
  using Journal = std::function<void(std::uint64_t number, const Event&)>;

  Ledger() = default;
  // With a budget, `accountant` must outlive the ledger.
  Ledger(Budget budget, const Accountant& accountant);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void set_journal(Journal journal) { journal_ = std::move(journal); }

  // Announces the events still to come, in order, and checks the whole plan against the budget once (PrivacyError if it does not fit). A
  // charge that follows the plan then costs nothing to check; one that departs from it is checked by itself, and ends the plan.
  void plan(const Events& events);

  // Records the event, then gives the permission. PrivacyError if the budget would be passed.
  Charge charge(const Event& event);

  const Events& events() const { return events_; }  // what has been charged so far, equal neighbours merged
  std::uint64_t count() const { return count_; }

 private:
  void check_budget(const Event& event) const;
  bool next_planned(const Event& event) const;

  std::optional<Budget> budget_;
  const Accountant* accountant_ = nullptr;
  Journal journal_;
  Events events_;
  Events planned_;  // what is left of the plan
  std::uint64_t count_ = 0;
};

}  // namespace fodp
