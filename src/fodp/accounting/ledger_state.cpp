// The ledger as part of a run's state (base/state.h). Events are written as rows of numbers.
#include <algorithm>

#include "fodp/accounting/ledger.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

using Row = std::vector<double>;

Row row_of(const Event& event, std::int64_t count) {
  const auto kind = std::ranges::find(event_kinds(), event.kind) - event_kinds().begin();
  return {static_cast<double>(kind), event.sample_rate, event.noise_multiplier, event.slack, static_cast<double>(count)};
}

Composed from_row(const Row& row) {
  check_input(row.size() == 5, "state: an event of the ledger has {} numbers: must be 5", row.size());
  const auto kinds = event_kinds();
  check_input(row[0] >= 0 && row[0] < static_cast<double>(kinds.size()), "state: an event of the ledger has kind {}: must be below {}",
              row[0], kinds.size());
  const Event event{kinds[static_cast<std::size_t>(row[0])], row[1], row[2], row[3]};
  event.for_accountant();
  return {event, static_cast<std::int64_t>(row[4])};
}

}  // namespace

void Ledger::state(StateVisitor& visit) {
  std::vector<Row> charged, planned, committed;
  for (const Composed& part : charged_.events()) charged.push_back(row_of(part.event, part.count));
  for (const Composed& part : committed_.events()) committed.push_back(row_of(part.event, part.count));
  for (const auto& [event, count] : planned_) planned.push_back(row_of(event, count));
  std::ranges::sort(planned);  // a map has no order of its own
  std::uint64_t count = count_;
  visit("count", count);
  visit("charged", charged);
  visit("planned", planned);
  visit("committed", committed);
  if (!visit.loads()) return;
  check_privacy(count >= handed_out_, "state: a ledger of {} releases, loaded after this one has made {}: their noise would come again",
                count, handed_out_);
  count_ = count;
  charged_ = {};
  committed_ = {};
  planned_.clear();
  for (const Row& row : charged) charged_.add(from_row(row).event, from_row(row).count);
  for (const Row& row : committed) committed_.add(from_row(row).event, from_row(row).count);
  for (const Row& row : planned) planned_[from_row(row).event] = from_row(row).count;
}

void Ledger::charge_state(StateVisitor& visit, std::optional<Charge>& open) const {
  std::vector<Row> event;
  std::uint64_t number = 0, ticket = 0;
  std::int64_t releases = 0, spent = 0;
  if (open) {
    event = {row_of(open->event_, 1)};
    number = open->number_, ticket = open->ticket_;
    releases = open->releases_, spent = open->spent_;
  }
  visit("charge.event", event);
  visit("charge.number", number);
  visit("charge.releases", releases);
  visit("charge.spent", spent);
  visit("charge.ticket", ticket);
  if (!visit.loads()) return;
  open.reset();
  if (event.empty()) return;
  check_privacy(number >= handed_out_, "state: a charge for release {}, loaded after the ledger has made {}: its noise would come again",
                number, handed_out_);
  check_input(spent >= 0 && spent <= releases && number + static_cast<std::uint64_t>(releases) <= count_,
              "state: a charge for releases {} to {} that the ledger did not hand out", number, releases);
  open.emplace(Charge(from_row(event[0]).event, id_, number, releases));
  open->spent_ = spent;
  open->ticket_ = ticket;
}

}  // namespace fodp
