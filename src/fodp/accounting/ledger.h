// The ledger of a run: every event is written here before its release exists. The only maker of a Charge.
//
// A Charge is the permission to make the releases that one event covers, most often one. Every release has a number of its own in the
// ledger, which also indexes its noise (noise/stream.h), so that no two releases of a run share random bits. Every ledger numbers from 0:
// each needs noise of a key of its own, and a mechanism refuses a charge whose ledger is not the one that the noise was first used with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"
#include "fodp/accounting/merged_events.h"
#include "fodp/base/state.h"
#include "fodp/base/unique_id.h"

namespace fodp {

class Charge {
 public:
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&&) = delete;
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  const Event& event() const { return event_; }
  std::uint64_t ledger() const { return ledger_; }      // the id of the ledger that made it
  std::uint64_t number() const { return number_; }      // of its first release; the others follow it
  std::int64_t releases() const { return releases_; }   // how many it covers
  bool used_up() const { return spent_ == releases_; }  // or given away

  // The mechanism that opens the data takes one release; its number is returned. `ticket` names what is charged as one (a mask, a cycle):
  // the first spend binds it. PrivacyError, and nothing is spent, when all are, when the charge was moved away, or for another ticket.
  std::uint64_t spend(std::uint64_t ticket = 0);

 private:
  friend class Ledger;
  Charge(const Event& event, std::uint64_t ledger, std::uint64_t number, std::int64_t releases)
      : event_(event), ledger_(ledger), number_(number), releases_(releases) {}

  Event event_;
  std::uint64_t ledger_;
  std::uint64_t number_;
  std::int64_t releases_;
  std::int64_t spent_ = 0;
  std::uint64_t ticket_ = 0;  // bound once spent_ > 0
};

// A charge or plan that the budget does not allow.
class BudgetError : public PrivacyError {
 public:
  using PrivacyError::PrivacyError;
};

// A limit that is never exceeded: a charge that would pass it is refused before anything is recorded.
struct Budget {
  double epsilon = 0;
  double delta = 0;
};

// One charge as it is written down. The records of a run, in their order, are enough to rebuild its ledger; nothing in them is secret.
struct LedgerRecord {
  std::uint64_t first_number = 0;  // of its first release; the others follow it
  std::int64_t releases = 1;       // how many it covers
  Event event;

  friend bool operator==(const LedgerRecord&, const LedgerRecord&) = default;
};

class Ledger {
 public:
  // Called with the record of each charge before the charge exists; a file of records is written here. If it throws, there is no charge.
  using Journal = std::function<void(const LedgerRecord&)>;

  Ledger() = default;
  // With a budget, `accountant` must outlive the ledger.
  Ledger(Budget budget, const Accountant& accountant);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  std::uint64_t id() const { return id_; }  // no other ledger of the process has it

  void set_journal(Journal journal) { journal_ = std::move(journal); }

  // Records what earlier runs on the same rows have cost. From here on it is among events() and counts against the budget; it takes no
  // numbers of releases, and the journal does not hear of it. InputError, and the ledger is as it was, after a plan or a charge.
  void spent_before(const Events& events);

  // Announces the events still to come and checks the whole plan against the budget once (PrivacyError if it does not fit). A charge whose
  // event is among what is left of the plan, in any order, then costs nothing to check. Another must fit into the budget beside all that
  // is planned: a run that leaves its plan because of what it saw still costs the plan.
  void plan(const Events& events);

  // Records the event, then gives the permission for the `releases` (at least 1) that it covers: they are charged as one. PrivacyError if
  // the budget would be passed.
  Charge charge(const Event& event, std::int64_t releases = 1);

  // Records what an interrupted process of the same run may have released beyond what this ledger knows of, before going on. It counts
  // against the budget, takes no numbers of releases, and the journal does not hear of it.
  void add_lost(const Events& events);

  // Takes over what an earlier ledger charged: the records that its journal was given, in that order. What was already spent is not held
  // against the budget here, but the next plan or charge is checked with it included. The journal does not hear of these records again.
  // InputError, which names the record, if they do not follow each other from 0 without gap or overlap or if one covers no release;
  // InputError too if something was charged or planned before. The ledger is then as it was.
  void rebuild(std::span<const LedgerRecord> records);

  // What was spent before and what has been charged so far, each event once, in the order they first came: composition does not depend on
  // the order, so equal events are merged wherever they stand.
  const Events& events() const { return charged_.events(); }
  // What the run costs that may be left at any time: what was charged and what is still planned. It is never above the budget.
  const Events& committed() const { return committed_.events(); }
  Events to_come() const;                            // committed and not charged yet
  const Events& earlier() const { return before_; }  // what was spent before
  Events own_events() const;                         // events() without what was spent before
  std::uint64_t count() const { return count_; }     // releases: the numbers handed out

  // What was charged, what is left of the plan, and a charge that is still open, as a run's state. PrivacyError, and the ledger is as it
  // was, for a state that would make it hand out a number again that it has handed out in this process.
  void state(StateVisitor& visit);
  void charge_state(StateVisitor& visit, std::optional<Charge>& open) const;

 private:
  void check_budget(const Event& event) const;

  std::optional<Budget> budget_;
  const Accountant* accountant_ = nullptr;
  Journal journal_;
  Events before_;
  MergedEvents committed_;
  MergedEvents charged_;                                        // what was spent before included
  std::unordered_map<Event, std::int64_t, EventHash> planned_;  // what is left of the plan: counts above 0
  std::uint64_t count_ = 0;
  std::uint64_t handed_out_ = 0;  // every number that charge() has given in this process is below
  std::uint64_t id_ = unique_id();
};

}  // namespace fodp
