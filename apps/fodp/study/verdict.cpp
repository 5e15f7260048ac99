#include "study/verdict.h"

#include <cmath>

#include <fmt/core.h>

#include "study/quantities.h"

namespace fodp::app {
namespace {

std::map<std::int64_t, double> by_seed(const StudyResults& results, const Place& place, const Claim& claim) {
  std::map<std::int64_t, double> values;
  for (const RunResult* run : results.at(place))
    if (const auto number = final_quantity(*run->record, claim.value, claim.target)) values[run->seed] = *number;
  return values;
}

Comparison difference(const StudyResults& results, const Claim& claim) {
  const auto worse = by_seed(results, claim.worse, claim);
  std::vector<double> ours, theirs;
  for (const auto& [seed, value] : by_seed(results, claim.better, claim))
    if (const auto pair = worse.find(seed); pair != worse.end()) {
      ours.push_back(claim.less ? pair->second : value);
      theirs.push_back(claim.less ? value : pair->second);
    }
  return compare(ours, theirs);
}

// Quantities that follow from the options alone, whatever the seed: a difference needs no test.
bool is_exact(const std::string& value) {
  return value == "epsilon" || value == "epsilon_ideal" || value == "noise_multiplier" || value == "steps" || value == "lr";
}

bool excludes_claimed(const Verdict& verdict) {
  return verdict.claim.claimed && verdict.difference.high && *verdict.difference.high < *verdict.claim.claimed;
}

bool same_on_every_seed(const Verdict& verdict) {
  const Comparison& found = verdict.difference;
  return found.n > 1 && found.low && *found.low == 0 && *found.high == 0;
}

Outcome outcome_of(const Verdict& verdict) {
  const Comparison& found = verdict.difference;
  if (found.n > 0 && is_exact(verdict.claim.value)) return found.mean > 1e-3 * verdict.size ? Outcome::holds : Outcome::fails;
  if (!verdict.p_holm) return Outcome::open;
  if (same_on_every_seed(verdict) || excludes_claimed(verdict)) return Outcome::fails;
  if (*verdict.p_holm >= .05) return Outcome::open;
  return found.mean > 0 ? Outcome::holds : Outcome::fails;
}

}  // namespace

std::vector<Verdict> verdicts_of(const StudyResults& results) {
  std::vector<Verdict> verdicts;
  std::vector<std::size_t> tested;
  std::vector<double> p;
  for (const Claim& claim : results.study.claims) {
    verdicts.push_back({.claim = claim, .outcome = Outcome::open, .difference = difference(results, claim), .p_holm = {}});
    for (const auto& [seed, value] : by_seed(results, claim.worse, claim)) verdicts.back().size = std::abs(value);
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
  else if (is_exact(verdict.claim.value))
    text = fmt::format("difference {:+.4f}, which follows from the options and needs no test", found.mean);
  else if (found.n == 1)
    text = fmt::format("difference {:+.4f}, one seed: a difference of one pair has no interval", found.mean);
  else if (!found.low)
    text = fmt::format("difference {:+.4f} on each of {} seeds: without a spread it cannot be tested", found.mean, found.n);
  else if (same_on_every_seed(verdict))
    text = fmt::format("the same on each of {} seeds", found.n);
  else
    text = fmt::format("difference {:+.4f} [{:+.4f}, {:+.4f}], {} seeds, p {:.2g} (Holm {:.2g})", found.mean, *found.low, *found.high,
                       found.n, *found.p, *verdict.p_holm);
  if (!verdict.claim.claimed) return text;
  text += fmt::format("; the paper has {:+.4f}", *verdict.claim.claimed);
  if (!excludes_claimed(verdict)) return text;
  text += ", which the interval excludes";
  if (verdict.p_holm && *verdict.p_holm < .05 && found.mean > 0) text += ", though the sign holds";
  return text;
}

}  // namespace fodp::app
