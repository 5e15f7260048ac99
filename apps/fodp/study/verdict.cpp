#include "study/verdict.h"

#include <fmt/core.h>

#include "study/quantities.h"

namespace fodp::app {
namespace {

std::map<std::int64_t, double> by_seed(const StudyResults& results, const Place& place, const std::string& value) {
  std::map<std::int64_t, double> values;
  for (const RunResult* run : results.at(place))
    if (const auto number = final_quantity(*run->record, value)) values[run->seed] = *number;
  return values;
}

Comparison difference(const StudyResults& results, const Claim& claim) {
  const auto worse = by_seed(results, claim.worse, claim.value);
  std::vector<double> ours, theirs;
  for (const auto& [seed, value] : by_seed(results, claim.better, claim.value))
    if (const auto pair = worse.find(seed); pair != worse.end()) {
      ours.push_back(claim.less ? pair->second : value);
      theirs.push_back(claim.less ? value : pair->second);
    }
  return compare(ours, theirs);
}

Outcome outcome_of(const Verdict& verdict) {
  const Comparison& found = verdict.difference;
  if (!verdict.p_holm) return Outcome::open;
  if (*found.low == 0 && *found.high == 0) return Outcome::fails;  // the same, seed by seed
  if (*verdict.p_holm < .05) return found.mean > 0 ? Outcome::holds : Outcome::fails;
  return verdict.claim.claimed && *found.high < *verdict.claim.claimed ? Outcome::fails : Outcome::open;
}

}  // namespace

std::vector<Verdict> verdicts_of(const StudyResults& results) {
  std::vector<Verdict> verdicts;
  std::vector<std::size_t> tested;
  std::vector<double> p;
  for (const Claim& claim : results.study.claims) {
    verdicts.push_back({.claim = claim, .outcome = Outcome::open, .difference = difference(results, claim), .p_holm = {}});
    if (!verdicts.back().difference.p) continue;
    tested.push_back(verdicts.size() - 1);
    p.push_back(*verdicts.back().difference.p);
  }
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < tested.size(); ++i) verdicts[tested[i]].p_holm = corrected[i];
  for (Verdict& verdict : verdicts) verdict.outcome = outcome_of(verdict);
  return verdicts;
}

std::string outcome_text(Outcome outcome) {
  return outcome == Outcome::holds ? "holds" : outcome == Outcome::fails ? "does not hold" : "cannot be told";
}

std::string verdict_numbers(const Verdict& verdict) {
  const Comparison& found = verdict.difference;
  std::string text;
  if (found.n == 0)
    text = "no pair of runs";
  else if (!found.low)
    text = fmt::format("difference {:+.4f}, one seed: a difference of one pair has no interval", found.mean);
  else
    text = fmt::format("difference {:+.4f} [{:+.4f}, {:+.4f}], {} seeds, p {:.2g} (Holm {:.2g})", found.mean, *found.low, *found.high,
                       found.n, *found.p, *verdict.p_holm);
  if (verdict.claim.claimed) text += fmt::format("; the paper has {:+.4f}", *verdict.claim.claimed);
  return text;
}

}  // namespace fodp::app
