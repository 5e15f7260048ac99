#include "fodp/audit/canaries.h"

#include <algorithm>
#include <cmath>

namespace fodp {
namespace {

// log((1 - q) + q e^x)
double log_mixture(double q, double x) { return x > 500 ? x + std::log(q) : std::log1p(q * std::expm1(x)); }

// One lot more, in which the logarithm of the likelihood ratio is `exponent` for a canary that is surely in it. The exponent is linear in
// what is left at the canary's places, so that it serves for the sum, too.
void add_lot(CanaryScore& score, double sample_rate, double exponent) {
  score.likelihood += log_mixture(sample_rate, exponent);
  score.sum += exponent;
}

std::int64_t most_of_a_group(const ClippedRows& sum) {
  std::int64_t most = 0;
  for (const ClipGroup& group : sum.groups) most = std::max(most, group.end - group.begin);
  return most;
}

}  // namespace

Canaries::Canaries(std::int64_t wanted, std::int64_t records, std::vector<double> noise_weights, std::mt19937_64& coins)
    : records_(records), weights_(std::move(noise_weights)), among_rows_(std::min(wanted, records)) {
  for (char& coin : among_rows_) coin = static_cast<char>(coins() >> 63);
  scores_.resize(among_rows_.size());
}

// One coordinate in each clip group that has one for every canary. Returns how many a canary has.
std::size_t Canaries::find_places(const ClippedRows& sum) {
  places_.clear();
  for (std::int64_t canary = 0; canary < count(); ++canary)
    for (const ClipGroup& group : sum.groups) {
      const std::int64_t size = group.end - group.begin;
      if (size >= count()) places_.push_back({group.begin + canary * size / count(), std::trunc(group.clip_norm / sum.grid) * sum.grid});
    }
  return places_.size() / static_cast<std::size_t>(count());
}

void Canaries::pass_on(const SeenSum& seen, ClippedRows& passed_on) {
  if (seen.sum.lattice.empty()) return;
  if (const std::int64_t most = most_of_a_group(seen.sum); most < count()) among_rows_.resize(most), scores_.resize(most);
  const std::size_t each = find_places(seen.sum);
  for (std::int64_t canary = 0; canary < count(); ++canary)
    if (among_rows_[canary] && std::ranges::binary_search(seen.rows, record(canary)))
      for (const Place& place : std::span(places_).subspan(canary * each, each))
        passed_on.lattice[place.coordinate] += std::llround(place.length / seen.sum.grid);
}

void Canaries::released(const SeenSum& seen) {
  if (seen.sum.lattice.empty() || !(seen.noise_scale > 0)) return;
  if (pending_.empty() || pending_.back().number != seen.lot_number) {
    for (Pending& lot : pending_) ++lot.age;
    while (!pending_.empty() && pending_.front().age >= weights_.size()) settle(pending_.front()), pending_.pop_front();
    pending_.push_back({seen.lot_number, seen.lot, 0, 0, std::vector<double>(count(), 0)});
  }
  const std::size_t each = find_places(seen.sum);
  std::vector<double> residual;
  for (const Place& place : places_)
    residual.push_back(seen.noised[place.coordinate] - static_cast<double>(seen.sum.lattice[place.coordinate]) * seen.sum.grid);
  residuals_.push_front(std::move(residual));
  if (residuals_.size() > weights_.size()) residuals_.pop_back();

  const double variance = seen.noise_scale * seen.noise_scale;
  for (Pending& lot : pending_)
    for (std::size_t at = 0; at < places_.size(); ++at) {
      double value = 0;  // with independent noise
      for (std::size_t k = 0; k < residuals_.size(); ++k) value += weights_[k] * residuals_[k][at];
      const double length = places_[at].length * weights_[lot.age];
      lot.exponents[at / each] += (length * value - length * length / 2) / variance;
      if (at < each) lot.squared_signal += length * length / variance;
    }
}

void Canaries::settle(const Pending& lot) {
  for (std::int64_t canary = 0; canary < count(); ++canary)
    if (lot.taken.group_of(record(canary)) == lot.taken.group) add_lot(scores_[canary], lot.taken.sample_rate, lot.exponents[canary]);
  if (lot.taken.group == 0) lots_.push_back({lot.taken.sample_rate, std::sqrt(lot.squared_signal)});
}

void Canaries::end_of_run() {
  for (const Pending& lot : pending_) settle(lot);
  pending_.clear();
}

std::vector<CanaryScore> Canaries::scores(bool among_rows) const {
  std::vector<CanaryScore> chosen;
  for (std::size_t i = 0; i < scores_.size(); ++i)
    if (static_cast<bool>(among_rows_[i]) == among_rows) chosen.push_back(scores_[i]);
  return chosen;
}

namespace {

constexpr double kDraws = 2e7;  // of a simulation, at most

// Scores as they should be.
struct Simulated {
  std::vector<CanaryScore> in, out;
};

Simulated simulate(const std::vector<CanaryLot>& lots) {
  std::mt19937_64 engine(20230515);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto size = static_cast<std::size_t>(std::clamp(kDraws / static_cast<double>(std::max<std::size_t>(1, lots.size())), 2e3, 2e4));
  const auto scores = [&](bool in) {
    std::vector<CanaryScore> out(size);
    for (CanaryScore& score : out)
      for (const CanaryLot& lot : lots) {
        const bool there = in && uniform(engine) < lot.sample_rate;
        add_lot(score, lot.sample_rate, lot.signal * normal(engine) + (there ? .5 : -.5) * lot.signal * lot.signal);
      }
    return out;
  };
  return {scores(true), scores(false)};
}

// One kind of score of canaries that are among the rows and that are not, ascending.
struct Kind {
  Kind(const std::vector<CanaryScore>& of_in, const std::vector<CanaryScore>& of_out, double CanaryScore::*kind)
      : in(sorted(of_in, kind)), out(sorted(of_out, kind)) {}
  std::vector<double> in, out;

 private:
  static std::vector<double> sorted(const std::vector<CanaryScore>& scores, double CanaryScore::*kind) {
    std::vector<double> values;
    for (const CanaryScore& score : scores) values.push_back(score.*kind);
    std::ranges::sort(values);
    return values;
  }
};

// Of scores that ascend.
std::int64_t above(const std::vector<double>& scores, double threshold) {
  return scores.end() - std::ranges::upper_bound(scores, threshold);
}

TestCounts counts_at(const Kind& scores, double threshold) {
  return {static_cast<std::int64_t>(scores.in.size()), above(scores.in, threshold), static_cast<std::int64_t>(scores.out.size()),
          above(scores.out, threshold)};
}

// What the same test would count in so many canaries.
TestCounts scaled(const TestCounts& counts, std::size_t in, std::size_t out) {
  const auto share = [](std::int64_t part, std::int64_t of, std::size_t count) {
    return std::llround(static_cast<double>(part) / static_cast<double>(of) * static_cast<double>(count));
  };
  return {static_cast<std::int64_t>(in), share(counts.said_of_in, counts.in, in), static_cast<std::int64_t>(out),
          share(counts.said_of_out, counts.out, out)};
}

// The threshold, among quantiles of the simulated scores, at which `worth` of the simulated test is largest.
template <class F>
double best_threshold(const Kind& simulated, const F& worth) {
  double best = 0, best_worth = -1;
  for (const std::vector<double>* scores : {&simulated.in, &simulated.out})
    for (int part = 1; part < 400; ++part) {
      const double threshold = (*scores)[scores->size() * part / 400];
      const double now = worth(counts_at(simulated, threshold));
      if (now > best_worth) best = threshold, best_worth = now;
    }
  return best;
}

// The one-run test: so many canaries with the highest scores are guessed to be among the rows, and as many with the lowest not to be. How
// many guesses are made is fixed beforehand, as the theorem wants it.
std::int64_t right_guesses(const Kind& scores, std::int64_t each) {
  std::vector<std::pair<double, bool>> all;
  for (const double score : scores.in) all.emplace_back(score, true);
  for (const double score : scores.out) all.emplace_back(score, false);
  std::ranges::sort(all);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < each; ++i) right += !all[i].second + all[all.size() - 1 - i].second;
  return right;
}

// How many of each, by the scores as they should be.
std::int64_t best_guesses(const Kind& simulated, std::int64_t canaries, double delta, double chance) {
  const auto share = [&](double part) { return static_cast<std::int64_t>(part * static_cast<double>(canaries)); };
  const auto size = static_cast<double>(simulated.in.size() + simulated.out.size());
  std::int64_t best = 0;
  double best_bound = 0;
  for (const double tail : {.5, .25, .12, .06, .03, .015, .008, .004}) {
    const auto right = static_cast<double>(right_guesses(simulated, static_cast<std::int64_t>(tail * size)));
    const double bound = one_run_epsilon(canaries, 2 * share(tail), share(right / size), delta, chance);
    if (bound > best_bound) best = share(tail), best_bound = bound;
  }
  return best;
}

}  // namespace

CanaryResult judge_canaries(const CanaryScores& scores, const std::vector<CanaryLot>& lots, const Events& events, double delta,
                            const Accountant& accountant, double confidence) {
  CanaryResult result{.canaries = static_cast<std::int64_t>(scores.in.size() + scores.out.size())};
  if (scores.in.empty() || scores.out.empty() || lots.empty()) return result;
  const double chance = (1 - confidence) / 8;  // two kinds of score, four bounds of each, which hold together
  const Simulated simulated = simulate(lots);
  for (const auto kind : {&CanaryScore::likelihood, &CanaryScore::sum}) {
    const Kind expected(simulated.in, simulated.out, kind), found(scores.in, scores.out, kind);

    const double widest = best_threshold(expected, [](const TestCounts& at) {
      return static_cast<double>(at.said_of_in) / static_cast<double>(at.in) -
             static_cast<double>(at.said_of_out) / static_cast<double>(at.out);
    });
    const TestCounts of_sound_run = scaled(counts_at(expected, widest), scores.in.size(), scores.out.size());
    result.of_sound_run = std::max(result.of_sound_run, gaussian_epsilon(of_sound_run, events, delta, accountant, chance));
    result.gaussian = std::max(result.gaussian, gaussian_epsilon(counts_at(found, widest), events, delta, accountant, chance));

    for (const bool reversed : {false, true}) {
      const auto bound = [&](const TestCounts& counts) { return counted_epsilon(reversed ? counts.reversed() : counts, delta, chance); };
      const double threshold =
          best_threshold(expected, [&](const TestCounts& at) { return bound(scaled(at, scores.in.size(), scores.out.size())); });
      result.counted = std::max(result.counted, bound(counts_at(found, threshold)));
    }

    const Kind first({scores.in.begin(), scores.in.begin() + scores.of_first_run_in},
                     {scores.out.begin(), scores.out.begin() + scores.of_first_run_out}, kind);
    const auto canaries = static_cast<std::int64_t>(first.in.size() + first.out.size());
    const std::int64_t each = best_guesses(expected, canaries, delta, chance);
    result.one_run = std::max(result.one_run, one_run_epsilon(canaries, 2 * each, right_guesses(first, each), delta, chance));
  }
  result.epsilon_lower = std::max({result.gaussian, result.counted, result.one_run});
  return result;
}

}  // namespace fodp
