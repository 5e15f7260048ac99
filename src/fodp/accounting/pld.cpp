#include "fodp/accounting/pld.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "fodp/accounting/grid_cache.h"
#include "fodp/accounting/groups.h"
#include "fodp/accounting/pld_question.h"
#include "fodp/accounting/pld_run.h"
#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kAbove = 6e-4, kBelow = 3e-3;  // what groups may add, or take, about
constexpr double kTooWide = .02;                // relative width from which other bounds are asked, too

constexpr Direction kBoth[] = {Direction::remove, Direction::add};

// Many unlike steps in groups that cost at least, or at most, as much.
std::vector<Piece> from_above(const std::vector<CountedStep>& steps) {
  std::vector<Piece> pieces;
  for (const Group& group : groups_above(steps, kAbove)) pieces.push_back({group.low, group.high, group.share, group.count});
  return pieces;
}

std::vector<Piece> from_below(const std::vector<CountedStep>& steps) {
  std::vector<Piece> pieces;
  for (const Group& group : groups_below(steps, kBelow)) pieces.push_back({group.least, group.least, 0, group.count});
  return pieces;
}

}  // namespace

PldAccountant::PldAccountant(double width, std::size_t most_kinds)
    : width_(width), most_kinds_(most_kinds), grids_(std::make_unique<GridCache>()) {
  check_input(width >= 1e-4 && width <= .5, "relative width is {}: must be in [1e-4, .5]", width);
}

PldAccountant::~PldAccountant() = default;

PldAccountant::Found PldAccountant::ask(const PldRun& run, double target, bool for_epsilon, std::span<const Direction> directions,
                                        Ends ends) const {
  const auto asks = for_epsilon ? PldQuestion::Asks::epsilon : PldQuestion::Asks::delta;
  const bool grouped = run.parts.size() > most_kinds_;
  const PldQuestion question(run, grouped ? from_above(run.parts) : pieces_of(run.parts), grouped, target, asks, width_, *grids_);
  if (!question.possible()) return {{0, for_epsilon ? kInfinity : 1}};
  Found found;
  auto& [lower, upper] = found.interval;
  Direction worse = directions.front();
  for (Direction direction : directions) {
    if (found.grid != 0 && question.bound(direction) < lower) continue;
    const PldQuestion::Answer answer = question.ask(direction, lower);
    if (answer.interval.upper >= upper) found.grid = answer.step, worse = direction;
    lower = std::max(lower, answer.interval.lower), upper = std::max(upper, answer.interval.upper);
  }
  if (!grouped) return found;
  lower = 0;  // what was found stands for the steps from above only
  if (ends == Ends::both) {
    const PldQuestion below(run, from_below(run.parts), true, target, asks, width_, *grids_);
    lower = below.possible() && std::isfinite(upper) ? below.ask_near(worse, upper).interval.lower : 0;
  }
  return found;
}

Spent PldAccountant::epsilon_of(const Events& events, double delta, std::span<const Direction> directions, Ends ends) const {
  check_input(delta >= 0 && delta <= 1, "delta is {}: must be in [0, 1]", delta);
  const PldRun run = pld_run(events);
  Spent spent{.delta = delta, .delta_lower = delta};
  if (run.empty() || delta == 1) return spent;
  if (delta == 0 || run.revealed > 0) {
    spent.epsilon = kInfinity;
    const bool unbounded = directions.front() == Direction::remove && (delta == 0 || delta < run.revealed * (1 - 1e-12));
    spent.epsilon_lower = unbounded ? kInfinity : 0;
    return spent;
  }
  if (total_variation(run) <= delta) return spent;
  if (run.exact()) {
    for (Direction direction : directions) {
      const auto [lower, upper] = exact_epsilon(run, delta, direction);
      spent.epsilon = std::max(spent.epsilon, upper), spent.epsilon_lower = std::max(spent.epsilon_lower, lower);
    }
    return spent;
  }
  const Found found = ask(run, delta, true, directions, ends);
  spent.epsilon_lower = found.interval.lower, spent.epsilon = found.interval.upper, spent.grid = found.grid;
  const bool both_known = ends == Ends::both || run.parts.size() <= most_kinds_;
  const bool narrow = !both_known || spent.epsilon - spent.epsilon_lower <= kTooWide * spent.epsilon + 1e-6;
  if (!narrow || std::isinf(spent.epsilon)) {
    // Beyond what the grid carries other bounds may be better.
    spent.epsilon = std::min(spent.epsilon, RdpAccountant().epsilon(events, delta).epsilon);
    const double least = dearest_part_epsilon(run, delta, directions.front());
    spent.epsilon_lower = std::min(spent.epsilon, std::max(spent.epsilon_lower, least));
  }
  return spent;
}

Spent PldAccountant::delta_of(const Events& events, double epsilon, std::span<const Direction> directions) const {
  check_input(epsilon >= 0, "epsilon is {}: must be at least 0", epsilon);
  const PldRun run = pld_run(events);
  Spent spent{.epsilon = epsilon, .epsilon_lower = epsilon};
  if (run.empty() || std::isinf(epsilon)) return spent;
  if (run.revealed > 0) {
    spent.delta = 1;
    spent.delta_lower = directions.front() == Direction::remove ? run.revealed * (1 - 1e-12) : 0;
    return spent;
  }
  if (run.exact()) {
    for (Direction direction : directions) {
      const auto [lower, upper] = exact_delta(run, epsilon, direction);
      spent.delta = std::max(spent.delta, upper), spent.delta_lower = std::max(spent.delta_lower, lower);
    }
    return spent;
  }
  const Found found = ask(run, epsilon, false, directions, Ends::both);
  spent.delta_lower = found.interval.lower, spent.grid = found.grid;
  spent.delta = std::min(found.interval.upper, total_variation(run));
  if (spent.delta - spent.delta_lower > kTooWide * spent.delta) {
    spent.delta = std::min(spent.delta, RdpAccountant().delta(events, epsilon).delta);
    const double least = dearest_part_delta(run, epsilon, directions.front());
    spent.delta_lower = std::min(spent.delta, std::max(spent.delta_lower, least));
  }
  return spent;
}

Spent PldAccountant::epsilon(const Events& events, double delta) const { return epsilon_of(events, delta, kBoth); }

double PldAccountant::upper_epsilon(const Events& events, double delta) const {
  return epsilon_of(events, delta, kBoth, Ends::upper).epsilon;
}

Spent PldAccountant::delta(const Events& events, double epsilon) const {
  const Spent spent = delta_of(events, epsilon, kBoth);
  return total_count(events) > 0 ? not_zero(spent) : spent;
}

Spent PldAccountant::epsilon(const Events& events, double delta, Direction direction) const {
  return epsilon_of(events, delta, {&direction, 1});
}

Spent PldAccountant::delta(const Events& events, double epsilon, Direction direction) const {
  const Spent spent = delta_of(events, epsilon, {&direction, 1});
  // A record that joins costs at most -log(1-q) a step: beyond that delta is 0 indeed.
  double most = 0;
  for (const auto& [event, count] : events)
    if (count > 0) most -= static_cast<double>(count) * std::log1p(-event.sample_rate);
  const bool positive = direction == Direction::remove ? total_count(events) > 0 : epsilon < most;
  return positive ? not_zero(spent) : spent;
}

}  // namespace fodp
