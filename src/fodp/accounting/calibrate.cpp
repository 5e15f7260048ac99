#include "fodp/accounting/calibrate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

// Where a cost was asked for: a value, and what the accountant said.
struct Point {
  double value = 0;
  Spent spent;
};

class Search {
 public:
  Search(const Budget& target, std::function<Spent(double)> cost) : target_(target), cost_(std::move(cost)) {
    check_input(target.epsilon > 0 && std::isfinite(target.epsilon), "epsilon is {}: must be above 0", target.epsilon);
    check_input(target.delta > 0 && target.delta < 1, "delta is {}: must be in (0, 1)", target.delta);
  }

  const Budget& target() const { return target_; }
  Point at(double value) const { return {value, cost_(value)}; }
  bool meets(const Point& point) const { return point.spent.epsilon <= target_.epsilon; }

  // The value that meets the target, from `good`, which does, towards `bad`, which does not: to a relative 1e-6, or to the next whole
  // number. Regula falsi in the logarithms (Illinois), with a halving in between so that it always ends.
  Point nearest(Point good, const Point& bad, bool whole = false) const {
    double u = std::log(good.value), v = std::log(bad.value), value = bad.value;
    double below = log_ratio(good), above = log_ratio(bad);
    const auto done = [&] {
      return whole ? std::abs(value - good.value) <= 1 : std::abs(value - good.value) <= 1e-6 * std::min(value, good.value);
    };
    int side = 0;
    for (int i = 1; !done(); ++i) {
      const bool falsi = i % 4 != 0 && std::isfinite(below) && std::isfinite(above) && above > below;
      const double share = falsi ? std::clamp(-below / (above - below), 1e-3, 1 - 1e-3) : .5;
      double next = std::exp(u + share * (v - u));
      if (whole) next = std::clamp(std::round(next), std::min(good.value, value) + 1, std::max(good.value, value) - 1);
      if (next == good.value || next == value) break;
      const Point point = at(next);
      if (meets(point)) {
        good = point, u = std::log(next), below = log_ratio(point);
        above = side == 1 ? above / 2 : above, side = 1;
      } else {
        value = next, v = std::log(next), above = log_ratio(point);
        below = side == -1 ? below / 2 : below, side = -1;
      }
    }
    return good;
  }

 private:
  double log_ratio(const Point& point) const { return std::log(point.spent.epsilon / target_.epsilon); }

  Budget target_;
  std::function<Spent(double)> cost_;
};

// The largest of something that costs more the larger it is, up to `largest`; nothing if not even the smallest meets the target. `first`
// is where to begin.
Point most(const Search& search, double smallest, double first, double largest, bool whole,
           const std::function<void(const Point&)>& refuse) {
  Point point = search.at(first);
  if (search.meets(point)) {
    while (point.value < largest) {
      const Point next = search.at(std::min(4 * point.value, largest));
      if (!search.meets(next)) return search.nearest(point, next, whole);
      point = next;
    }
    return point;
  }
  while (point.value > smallest) {
    const Point next = search.at(std::max(point.value / 4, smallest));
    if (search.meets(next)) return search.nearest(next, point, whole);
    point = next;
  }
  refuse(point);
  return point;
}

// The least noise multiplier within the target of `search`, from 1 by doubling or halving.
Calibrated least_noise(const Search& search, const EventsAt& events) {
  constexpr double kLargest = 1e6, kSmallest = 1e-6;
  Point high = search.at(1);
  if (search.meets(high)) {
    while (high.value > kSmallest) {
      const Point low = search.at(std::max(high.value / 2, kSmallest));
      if (!search.meets(low)) {
        high = search.nearest(high, low);
        break;
      }
      high = low;
    }
    return {high.value, high.spent};
  }
  for (Point low = high; low.value < kLargest; low = high) {
    high = search.at(std::min(2 * low.value, kLargest));
    if (search.meets(high)) {
      high = search.nearest(high, low);
      return {high.value, high.spent};
    }
  }
  const Budget& target = search.target();
  throw InputError(fmt::format(
      "epsilon {} at delta {} cannot be met by {} events: with a noise multiplier of {} epsilon is {}; allow that much, or fewer steps, a "
      "lower sample rate or a larger delta",
      target.epsilon, target.delta, total_count(events(kLargest)), kLargest, high.spent.epsilon));
}

// The same where an answer takes long but another accountant, `guess`, tells quickly what noise it would take for an epsilon: the two
// differ by a factor that hardly depends on the noise. From two such guesses by secants in the logarithms, until the last two answers are
// on either side of the target. Nothing where that does not come about.
std::optional<Point> by_guesses(const Search& search, const std::function<std::optional<double>(double epsilon)>& guess) {
  constexpr double kAside = 4e-7;  // either side of where the target is met, by the logarithm
  constexpr int kMostAnswers = 16;
  const double target = search.target().epsilon;
  const std::optional<double> first = guess(target);
  if (!first) return std::nullopt;
  Point before = search.at(*first);
  const double ratio = before.spent.epsilon / target;
  if (!std::isfinite(ratio) || !(ratio > 0)) return std::nullopt;
  const std::optional<double> second = guess(target / ratio);
  if (!second) return std::nullopt;
  Point last = search.at(*second);

  std::optional<Point> good, bad;
  const auto note = [&](const Point& point) {
    std::optional<Point>& side = search.meets(point) ? good : bad;
    const bool nearer = !side || (search.meets(point) ? point.value < side->value : point.value > side->value);
    if (nearer) side = point;
  };
  note(before), note(last);
  for (int i = 2; i < kMostAnswers; ++i) {
    if (good && bad && good->value - bad->value <= 1e-6 * bad->value) return good;
    const double x = std::log(last.value), y = std::log(last.spent.epsilon / target);
    const double slope = (y - std::log(before.spent.epsilon / target)) / (x - std::log(before.value));
    if (!(slope < 0) || !std::isfinite(y)) break;
    double next = x - std::clamp(y / slope, -1., 1.);
    // So near that the secant is right: once on the side that meets the target, then on the other.
    if (std::abs(next - x) < 1e-4) next += good && good->value <= std::exp(next + 2 * kAside) ? -kAside : kAside;
    if (good && bad) next = std::clamp(next, std::log(bad->value), std::log(good->value));
    const Point point = search.at(std::exp(next));
    if (point.value == last.value) break;
    before = last, last = point;
    note(point);
  }
  if (!good || !bad || !(bad->value < good->value)) return std::nullopt;
  return search.nearest(*good, *bad);
}

void check_run(const PlannedRun& run) {
  check_input(run.steps >= 1, "steps is {}: must be at least 1", run.steps);
  check_input(run.beta > 0 && run.beta <= 1, "beta is {}: must be in (0, 1]", run.beta);
}

}  // namespace

Events PlannedRun::events(double noise_multiplier) const {
  return {{Event::poisson_gaussian(sample_rate, noise_multiplier / beta, slack), steps}};
}

Calibrated calibrate_noise_multiplier(const PlannedRun& run, const Budget& target, const Accountant& accountant) {
  check_run(run);
  return calibrate_noise_multiplier([&](double sigma) { return run.events(sigma); }, target, accountant);
}

Calibrated calibrate_noise_multiplier(const EventsAt& events, const Budget& target, const Accountant& accountant,
                                      const CalibrationProgress& progress) {
  constexpr std::size_t kManyKinds = 96;
  int asked = 0;
  const auto told = [&](double sigma, const Spent& spent) {
    if (progress) progress(++asked, sigma, spent.epsilon);
    return spent;
  };
  const Search search(target, [&](double sigma) { return told(sigma, accountant.epsilon(events(sigma), target.delta)); });
  if (events(1).size() <= kManyKinds) return least_noise(search, events);

  const Search upper(target, [&](double sigma) {
    return told(sigma, {.epsilon = accountant.upper_epsilon(events(sigma), target.delta), .delta = target.delta});
  });
  const RdpAccountant guide;
  const auto guess = [&](double epsilon) -> std::optional<double> {
    const Search quick({epsilon, target.delta}, [&](double sigma) { return guide.epsilon(events(sigma), target.delta); });
    try {
      return least_noise(quick, events).noise_multiplier;
    } catch (const InputError&) {
      return std::nullopt;
    }
  };
  const std::optional<Point> found = by_guesses(upper, guess);
  if (!found) return least_noise(search, events);
  return {found->value, search.at(found->value).spent};
}

CalibratedRun calibrate(const PlannedRun& planned, double noise_multiplier, Unknown unknown, const Budget& target,
                        const Accountant& accountant) {
  CalibratedRun result{.run = planned, .noise_multiplier = noise_multiplier};
  PlannedRun& run = result.run;
  if (unknown == Unknown::noise_multiplier) {
    const Calibrated calibrated = calibrate_noise_multiplier(run, target, accountant);
    result.noise_multiplier = calibrated.noise_multiplier;
    result.spent = calibrated.spent;
    return result;
  }
  check_input(noise_multiplier > 0 && std::isfinite(noise_multiplier), "noise multiplier is {}: must be above 0", noise_multiplier);
  if (unknown == Unknown::steps) run.steps = 1;
  if (unknown == Unknown::sample_rate) run.sample_rate = 1;
  if (unknown == Unknown::beta) run.beta = 1;
  check_run(run);
  const Search search(target, [&](double value) {
    PlannedRun candidate = run;
    if (unknown == Unknown::steps) candidate.steps = static_cast<std::int64_t>(value);
    if (unknown == Unknown::sample_rate) candidate.sample_rate = value;
    if (unknown == Unknown::beta) candidate.beta = value;
    return accountant.epsilon(candidate.events(noise_multiplier), target.delta);
  });
  const auto refuse = [&](const Point& least) {
    throw InputError(
        fmt::format("epsilon {} at delta {} cannot be met with a noise multiplier of {}: {} {} costs epsilon {}; allow that much, "
                    "more noise or a larger delta",
                    target.epsilon, target.delta, noise_multiplier, enum_name(unknown), least.value, least.spent.epsilon));
  };
  Point found;
  if (unknown == Unknown::steps) {
    found = most(search, 1, 1, 1e9, true, refuse);
    run.steps = static_cast<std::int64_t>(found.value);
  } else if (unknown == Unknown::sample_rate) {
    run.sample_rate = (found = most(search, 1e-9, 1, 1, false, refuse)).value;
  } else {
    run.beta = (found = most(search, 1e-6, 1, 1, false, refuse)).value;
  }
  result.spent = found.spent;
  return result;
}

}  // namespace fodp
