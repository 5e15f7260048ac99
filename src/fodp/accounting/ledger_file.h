// The ledger of a run on disk: what may have been released, written down before it is. Its lines (base/chained_lines.h) are JSON:
//
//   {"fodp_ledger": 1, "run", "version", "date", "delta", "accountant", "insecure", "data_fingerprint", "unit", "rows", "earlier",
//    "plan"}                               the first line
//   {"reserve": {"from", "to", "each"}}    `each` charges for every event of the list, from number `from` to number `to`, counted from 0
//   {"give_back": {"from", "to", "each"}}  of these, so many were not used, and will not be
//   {"event": {...}}                       an event that the plan does not have is added to the end of the list
//   {"again": ...}, {"dropped": ...}       ranges as above: so many more, or fewer, are planned, since an interrupted run goes on
//
// The list begins with the events of the plan, equal ones merged. Charges are reserved in blocks, each before the first of them is used,
// so that a step seldom waits for the disk. After a crash everything that was reserved counts as spent: the ledger may say more than was
// released, never less. Where the last line is torn, a block of twice the size of the one before counts as spent, too.
//
// Nothing in the file is secret.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"
#include "fodp/base/chained_lines.h"

namespace fodp {

// What is known of a run before its first step.
struct LedgerHeader {
  std::string run;  // its identity
  std::string version, date, data_fingerprint;
  double delta = 0;
  AccountantKind accountant = AccountantKind::pld;
  std::vector<std::string> insecure;  // why the run is not private; empty if it is
  std::string unit = "row";           // whom the guarantee is for: each row, or whoever a column names
  std::int64_t rows = 0;              // of the training data, or units
  Events earlier;                     // what was spent on the same rows before
  Events plan;                        // of the run itself

  friend bool operator==(const LedgerHeader&, const LedgerHeader&) = default;
};

// What a ledger file says.
struct LedgerContent {
  LedgerHeader header;
  Events planned;  // those of the header, unless steps are done again; in the order of the list, as the next
  Events charged;  // by the run itself, at most: all that was reserved and not given back
  bool torn = false;

  // All that the run may have cost: what was spent before, and of each event the larger of what was planned and what was charged. A run
  // that ends before its plan costs the plan, because when it ended may depend on the data.
  Events guaranteed() const;
};

// For anybody, at any time. InputError if the file cannot be read or its version is not known, PrivacyError if it is damaged.
LedgerContent read_ledger(const std::filesystem::path& file);

class LedgerFile {
 public:
  // A new file; one process at a time. Events that were charged already are written down with it.
  LedgerFile(const std::filesystem::path& file, const LedgerHeader& header, const Events& charged = {});
  // An existing one, to go on with. A torn end is mended, upward. InputError if another process uses it, or if the header is of another run
  // or plan (its date and version aside).
  static LedgerFile open(const std::filesystem::path& file, const LedgerHeader& header);
  LedgerFile(LedgerFile&&) noexcept;
  ~LedgerFile();

  const LedgerHeader& header() const;

  Events charged() const;  // as in LedgerContent

  // What of the file's charges this process may use again because it repeats the very same releases (a run with a fixed seed): all but
  // these. Without this call everything in the file counts as used.
  void repeat_from(const Events& charged);
  void all_used();

  // The run goes on after an interruption, and these are the charges still to come: some may be for steps that are done again, and where
  // the budget does not allow that some of the plan's last ones are missing.
  void plan_rest(const Events& rest);

  // Returns when the charge for one such event is on the disk. FaultError, and no charge, if it cannot be.
  void charge(const Event& event);

  // Writes down that what is reserved and was not used will not be.
  void give_back();

 private:
  struct Book;
  friend LedgerContent read_ledger(const std::filesystem::path& file);

  LedgerFile(ChainedLines lines, std::unique_ptr<Book> book);
  std::size_t place_of(const Event& event);  // in the list; an event that is new to it is added
  void write(const char* what, std::size_t from, std::size_t to, std::int64_t each);

  ChainedLines lines_;
  std::unique_ptr<Book> book_;
  std::int64_t block_ = 1;                            // most charges of the next reservation
  std::chrono::steady_clock::time_point reserved_{};  // when the last one was made
};

}  // namespace fodp
