#include "fodp/accounting/group_privacy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fodp/accounting/grid_cache.h"
#include "fodp/accounting/group_loss.h"
#include "fodp/accounting/groups.h"
#include "fodp/accounting/pld.h"
#include "fodp/accounting/pld_question.h"
#include "fodp/accounting/pld_run.h"
#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check(double delta, std::int64_t records) {
  check_input(delta >= 0 && delta <= 1, "delta is {}: must be in [0, 1]", delta);
  check_input(records >= 1 && records <= kMostRecords, "a group of {} records: must be from 1 to {}", records, kMostRecords);
}

// The run as the group sees it. Of many unlike steps neighbours are taken together, each at the largest rate and the least noise among
// them: what a group costs grows with the rate and falls with the noise.
PldRun run_of_group(const Events& events, std::int64_t records) {
  constexpr std::size_t kMostKinds = 16;
  PldRun run = pld_run(events);
  run.distance *= static_cast<double>(records);
  if (run.parts.size() > kMostKinds) {
    std::vector<CountedStep> fewer;
    for (const Group& group : group_steps(run.parts, kMostKinds)) fewer.push_back({group.most, group.count});
    run.parts = std::move(fewer);
  }
  for (CountedStep& part : run.parts) part.event.records = records;
  return run;
}

double mixture_epsilon(const PldRun& run, double delta) {
  constexpr double kWidth = .1;  // of the interval; its upper end is as near as ever
  if (total_variation(run) <= delta) return 0;
  if (run.exact()) return exact_epsilon(run, delta, Direction::remove).upper;
  GridCache grids;
  const PldQuestion question(run, pieces_of(run.parts), false, delta, PldQuestion::Asks::epsilon, kWidth, grids);
  if (!question.possible()) return kInfinity;
  Interval found;
  for (Direction direction : {Direction::remove, Direction::add}) {
    if (question.bound(direction) < found.lower) continue;
    const Interval answer = question.ask(direction, found.lower).interval;
    found = {std::max(found.lower, answer.lower), std::max(found.upper, answer.upper)};
  }
  return found.upper;
}

}  // namespace

double group_epsilon(const Events& events, double delta, std::int64_t records) {
  check(delta, records);
  if (records == 1) return PldAccountant().upper_epsilon(events, delta);
  const PldRun run = run_of_group(events, records);
  if (run.empty() || delta == 1) return 0;
  if (delta == 0 || run.revealed > 0) return kInfinity;
  const double epsilon = mixture_epsilon(run, delta);
  return std::isfinite(epsilon) ? epsilon : chained_group_epsilon(events, delta, records);
}

// If neighbours are (e, d)-close, data sets that are k changes apart are (k*e, d*(1 + exp(e) + ... + exp((k-1)*e)))-close. The smaller d,
// the larger is e: the largest d is sought for which the sum stays within delta, with the quick accountant; at that d the tight one has a
// smaller e, for which the sum is smaller still.
double chained_group_epsilon(const Events& events, double delta, std::int64_t records) {
  check(delta, records);
  const RdpAccountant quick;
  const PldAccountant tight;
  if (records == 1 || delta == 0 || delta == 1) return tight.upper_epsilon(events, delta);
  const double log_delta = std::log(delta);
  const auto holds = [&](double unlikely) {  // d = exp(-unlikely)
    const double epsilon = quick.epsilon(events, std::exp(-unlikely)).epsilon;
    double log_sum = 0;
    for (std::int64_t i = 1; i < records; ++i) {
      const double log_term = epsilon + log_sum;
      log_sum = log_term + std::log1p(std::exp(-log_term));
    }
    return log_sum - unlikely <= log_delta - 1e-9;
  };
  constexpr double kMost = 600, kNear = 1e-3;  // beyond, masses leave the range of doubles
  double fails = -log_delta, found = fails;
  while (!holds(found)) {
    if (found >= kMost) return kInfinity;
    fails = found, found = std::min(kMost, 1.25 * found + 1);
  }
  while (found - fails > kNear * found) {
    const double middle = (found + fails) / 2;
    (holds(middle) ? found : fails) = middle;
  }
  const double d = std::exp(-found);
  return static_cast<double>(records) * std::min(quick.epsilon(events, d).epsilon, tight.upper_epsilon(events, d));
}

}  // namespace fodp
