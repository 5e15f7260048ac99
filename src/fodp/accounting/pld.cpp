#include "fodp/accounting/pld.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <list>
#include <mutex>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "fodp/accounting/cumulants.h"
#include "fodp/accounting/groups.h"
#include "fodp/accounting/loss_grid.h"
#include "fodp/accounting/rdp.h"
#include "fodp/accounting/tilted_sum.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = std::numeric_limits<double>::epsilon();
constexpr double kMostPoints = 1 << 22;     // of a grid or a window: some 100 MB in all
constexpr double kComfortPoints = 1 << 13;  // up to here more accuracy than promised is cheap
constexpr double kCoarse = 6;               // steps of a first answer over those of the last
constexpr double kGrouped = 3;              // steps for the upper end of groups over those for both ends
constexpr double kLeastNoise = .02;         // below, masses leave the range of doubles

constexpr double kAbove = 6e-4, kBelow = 3e-3;  // what groups may add, or take, about
constexpr std::size_t kMostOutlined = 24;       // for what need not be certified

using Part = CountedStep;

// A run in normal form: the same multiset of events gives the same bits.
struct Run {
  double distance = 0;      // of all plain Gaussians together: sqrt(sum of 1/z^2)
  double revealed = 0;      // chance that a step without noise shows the record: delta at every epsilon
  std::size_t terms = 0;    // that were added up
  std::vector<Part> parts;  // the sampled ones, distinct and sorted
  double count = 0;         // of the sampled ones

  bool empty() const { return distance == 0 && revealed == 0 && parts.empty(); }
  bool exact() const { return parts.empty() || (distance == 0 && count == 1); }
};

Run run_of(const Events& events) {
  Run run;
  double squares = 0, log_hidden = 0;
  for (const Composed& composed : events) {
    const Event& event = composed.event;
    check_input(event.kind == Event::Kind::gaussian || event.kind == Event::Kind::poisson_gaussian,
                "event kind {}: the pld accountant knows gaussian and poisson_gaussian", static_cast<int>(event.kind));
    const double rate = event.kind == Event::Kind::gaussian ? 1 : event.sample_rate, noise = event.charged_multiplier();
    check_input(rate > 0 && rate <= 1, "sample rate is {}: must be in (0, 1]", rate);
    check_input(noise >= 0, "noise multiplier is {}: must be at least 0", noise);
    check_input(composed.count >= 0, "count of an event is {}: must be at least 0", composed.count);
    if (composed.count == 0 || std::isinf(noise)) continue;
    const auto count = static_cast<double>(composed.count);
    ++run.terms;
    if (noise == 0)
      log_hidden += count * std::log1p(-rate);
    else if (rate == 1)
      squares += count / noise / noise;
    else
      run.parts.push_back({{rate, noise}, count});
  }
  run.revealed = -std::expm1(log_hidden);
  const auto key = [](const Part& part) { return std::pair(part.event.sample_rate, part.event.noise_multiplier); };
  std::sort(run.parts.begin(), run.parts.end(), [&](const Part& a, const Part& b) { return key(a) < key(b); });
  std::vector<Part> distinct;
  for (const Part& part : run.parts) {
    run.count += part.count;
    if (!distinct.empty() && distinct.back().event == part.event)
      distinct.back().count += part.count;
    else
      distinct.push_back(part);
  }
  run.parts = std::move(distinct);
  run.distance = std::sqrt(squares);
  return run;
}

// No two neighbours are further apart in total variation than their events together.
double total_variation(const Run& run) {
  double sum = std::erf(run.distance / (2 * std::numbers::sqrt2));
  for (const Part& part : run.parts)
    sum += part.count * part.event.sample_rate * std::erf(1 / (2 * std::numbers::sqrt2 * part.event.noise_multiplier));
  return sum * (1 + 1e-12);
}

// The root of a sum of squares, as it may have been without rounding.
Interval distance_of(const Run& run) {
  const double doubt = kUnit * (static_cast<double>(run.terms) + 4);
  return {run.distance * (1 - doubt), run.distance * (1 + doubt)};
}

Interval exact_epsilon(const Run& run, double delta, Direction direction) {
  if (!run.parts.empty())
    return sampled_gaussian_epsilon(run.parts[0].event.sample_rate, run.parts[0].event.noise_multiplier, delta, direction);
  const auto [near, far] = distance_of(run);
  return {gaussian_epsilon(near, delta).lower, gaussian_epsilon(far, delta).upper};
}

Interval exact_delta(const Run& run, double epsilon, Direction direction) {
  if (!run.parts.empty())
    return sampled_gaussian_delta(run.parts[0].event.sample_rate, run.parts[0].event.noise_multiplier, epsilon, direction);
  const auto [near, far] = distance_of(run);
  return {gaussian_delta(near, epsilon).lower, gaussian_delta(far, epsilon).upper};
}

// A run costs at least what each part of it costs once.
template <class F>
double least_of_parts(const Run& run, const F& lower_of) {
  double least = 0;
  if (run.distance > 0) least = lower_of(Run{.distance = run.distance, .terms = run.terms});
  for (const Part& part : run.parts) least = std::max(least, lower_of(Run{.parts = {{part.event, 1}}, .count = 1}));
  return least;
}

// What a question composes: a step, or one that tosses a public coin for two.
struct Piece {
  SampledGaussian low, high;
  double share, count;
};

std::vector<Piece> pieces_of(const std::vector<Part>& parts) {
  std::vector<Piece> pieces;
  for (const auto& [event, count] : parts) pieces.push_back({event, event, 0, count});
  return pieces;
}

// The sampled steps of a run from above and from below: the same where there are few kinds.
struct Ends {
  std::vector<Piece> upper;
  std::vector<Part> lower;
  bool differ = false;
};

Ends ends_of(const Run& run, std::size_t most_kinds) {
  if (run.parts.size() <= most_kinds) return {pieces_of(run.parts), run.parts};
  Ends ends{.differ = true};
  for (const Group& group : groups_above(run.parts, kAbove)) ends.upper.push_back({group.low, group.high, group.share, group.count});
  for (const Group& group : groups_below(run.parts, kBelow)) ends.lower.push_back({group.least, group.count});
  return ends;
}

constexpr Direction kBoth[] = {Direction::remove, Direction::add};

}  // namespace

// Grids of recent questions. An answer does not depend on what is kept: a budget that was met is met whoever asks.
class PldAccountant::Grids {
 public:
  std::shared_ptr<const LossGrid> get(const Piece& piece, double step, double tail, double highest) {
    {
      const std::lock_guard lock(mutex_);
      for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
        if (entry->low == piece.low && entry->high == piece.high && entry->share == piece.share && entry->grid->step == step &&
            entry->tail == tail && entry->highest == highest) {
          entries_.splice(entries_.begin(), entries_, entry);
          return entry->grid;
        }
    }
    auto grid =
        std::make_shared<const LossGrid>(piece.share == 0 ? make_loss_grid(piece.low, step, tail, highest)
                                                          : make_mixed_grid(piece.low, piece.high, piece.share, step, tail, highest));
    const std::lock_guard lock(mutex_);
    entries_.push_front({piece.low, piece.high, piece.share, tail, highest, grid});
    points_ += grid->log_q.size();
    while (points_ > kMostKept && entries_.size() > 1) {
      points_ -= entries_.back().grid->log_q.size();
      entries_.pop_back();
    }
    return grid;
  }

 private:
  struct Entry {
    SampledGaussian low, high;
    double share, tail, highest;
    std::shared_ptr<const LossGrid> grid;
  };
  static constexpr std::size_t kMostKept = 1 << 21;

  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::size_t points_ = 0;
};

// One question about one run: epsilon at a delta, or delta at an epsilon.
class PldAccountant::Question {
 public:
  struct Answer {
    Interval interval;
    double step = 0;
  };

  // `pieces` are the sampled steps of the run or, if `grouped`, stand for them. `target` is delta (to be told epsilon) or epsilon (to be
  // told delta).
  Question(const Run& run, std::vector<Piece> pieces, bool grouped, double target, bool gives_epsilon, double width, Grids& grids)
      : target_(target), gives_epsilon_(gives_epsilon), width_(width), grids_(grids), count_(run.count), pieces_(std::move(pieces)) {
    outline_ = run.parts;
    if (grouped) {
      outline_.clear();
      for (const Group& group : group_steps(run.parts, kMostOutlined)) outline_.push_back({group.most, group.count});
      fineness_ = gives_epsilon ? kGrouped : kCoarse;
    }
    if (run.distance > 0) {
      const SampledGaussian plain{1, 1 / run.distance};
      pieces_.push_back({plain, plain, 0, 1});
      outline_.push_back({plain, 1});
      ++count_;
    }
    first_ = fineness_ > 1 ? pieces_of(outline_) : pieces_;
    if (!possible()) return;
    // Mass that is cut off costs its share of delta: a ten-millionth.
    double delta = target;
    if (!gives_epsilon) {
      delta = kInfinity;
      for (Direction direction : {Direction::remove, Direction::add})
        delta = std::min(delta, std::exp(cumulants(1e-20 / count_, kInfinity).for_epsilon(target, direction).bound));
      delta = std::max(delta, 1e-200);
    }
    // A power of ten, so that the questions of one run share their grids.
    tail_ = std::max(1e-290, std::pow(10, std::floor(std::log10(1e-7 * delta / count_))));
    run_cumulants_.emplace(cumulants(tail_, kInfinity));
  }

  bool possible() const {
    return std::all_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.high.noise_multiplier >= kLeastNoise; });
  }

  // An upper bound on what ask() would find, without asking.
  double bound(Direction direction) const {
    if (gives_epsilon_) return run_cumulants_->for_delta(target_ * .999, direction).bound * (1 + 1e-9);
    return std::exp(run_cumulants_->for_epsilon(target_, direction).bound) * 1.001;
  }

  // A fine answer at once, for where about it lies.
  Answer ask_near(Direction direction, double about) {
    return gives_epsilon_ ? solve(pieces_, direction, about, 1) : solve(pieces_, direction, target_, fineness_);
  }

  // `known` is a lower bound from the other direction: an answer that is surely below it need not be sharp.
  Answer ask(Direction direction, double known) {
    if (!gives_epsilon_) return solve(pieces_, direction, target_, fineness_);
    // Chernoff's bound may be far above the truth: coarse answers first, each with the tilt and the grid that belong to the one before.
    double epsilon = run_cumulants_->for_delta(target_, direction).bound;
    if (!std::isfinite(epsilon)) return {{0, kInfinity}};
    epsilon = std::max(0., epsilon);
    Answer best{{0, kInfinity}};
    for (int i = 0; i < 12; ++i) {
      const Answer coarse = solve(first_, direction, epsilon, kCoarse);
      best = {{std::max(best.interval.lower, coarse.interval.lower), std::min(best.interval.upper, coarse.interval.upper)}, coarse.step};
      if (fineness_ > 1) best.interval.lower = 0;  // what stands for the pieces costs at least as much, not at most
      if (!std::isfinite(coarse.interval.upper) || coarse.interval.upper > .8 * epsilon) break;
      epsilon = coarse.interval.upper;
    }
    if (!std::isfinite(best.interval.upper) || best.interval.upper <= known) return best;
    const Answer fine = solve(pieces_, direction, best.interval.upper, fineness_);
    return {{std::max(best.interval.lower, fine.interval.lower), std::min(best.interval.upper, fine.interval.upper)}, fine.step};
  }

 private:
  RunCumulants cumulants(double tail, double highest) const {
    std::vector<CountedCumulants> parts;
    for (const auto& [event, count] : outline_) parts.push_back({Cumulants(event, tail, highest), count});
    return RunCumulants(std::move(parts));
  }

  // The largest step with which the grid adds at most `excess` to epsilon and the interval is at most `width` wide. `needed` is how
  // unlikely, by its logarithm, a spread must be that is not given back.
  double step_for(double s, double needed, double excess, double width) const {
    // An event's spread on the grid has a variance of step^2/6 and a mean of half of it; under the tilt epsilon grows by this.
    const double for_excess = std::sqrt(12 * excess / (count_ * (s + 1)));
    // What the lower end gives back: 2*sqrt(scale*needed) + (2s+1)*scale, scale = count*step^2/8 (TiltedSum::give_back).
    const double root = std::sqrt(needed + (2 * s + 1) * width) - std::sqrt(needed);
    return std::min(for_excess, std::max(width / count_, root / (2 * s + 1) * std::sqrt(8 / count_)));
  }

  // log of what delta is made of, beside the largest weight; `epsilon` is about where the answer lies.
  double log_share(double s, double epsilon, const Cumulants::Value& tilted) const {
    return gives_epsilon_ ? std::log(target_) + s * epsilon - tilted.k - log_largest_weight(s)
                          : -std::log1p(s * std::sqrt(tilted.variance)) - 2;
  }

  double choose_step(double s, double slope, double epsilon, const Cumulants::Value& tilted, double window) const {
    const double needed = std::log(1e3) + std::clamp(-log_share(s, epsilon, tilted), 0., 100.);
    // An error of e in epsilon is one of about slope*e in the logarithm of delta.
    const double value = gives_epsilon_ ? epsilon : .6 / slope;
    const double comfortable = step_for(s, needed, 1.5e-5 * value, .4 * width_ * value);
    if (window / comfortable <= kComfortPoints) return comfortable;
    const double floor = gives_epsilon_ ? 5e-7 : 0;
    const double promised = step_for(s, needed, std::max(3.5e-5 * value, floor), std::max(.75 * width_ * value, floor));
    return std::max(std::min(promised, window / kComfortPoints), window / kMostPoints);
  }

  // Near `epsilon`; a `coarseness` above 1 asks for less accuracy.
  Answer solve(const std::vector<Piece>& pieces, Direction direction, double epsilon, double coarseness) {
    // A ratio so large that no others make up for it need not be told from a larger one: the grid ends there. To remove it is a loss far
    // above epsilon, to add a gain that nothing outweighs.
    const double most = 1.3 * epsilon;
    const double wanted = 1.1 * (most + (direction == Direction::remove
                                             ? 2 * run_cumulants_->depth(25, direction)
                                             : run_cumulants_->reach(run_cumulants_->for_epsilon(epsilon, direction).s, 25, direction)));
    const double highest = std::isfinite(wanted) ? std::exp2(std::ceil(4 * std::log2(wanted)) / 4) : kInfinity;
    const RunCumulants within = cumulants(tail_, highest);
    const double slope = within.for_epsilon(epsilon, direction).s, s = within.narrow(slope, epsilon, direction);
    const Cumulants::Value tilted = within.at(s, direction);
    const double deviation = std::sqrt(tilted.variance);
    const double unlikely = std::log(1e6) + std::clamp(-log_share(s, epsilon, tilted), 0., 100.);
    const double window = 2.1 * within.reach(s, unlikely, direction);
    if (!(deviation > 0) || !std::isfinite(tilted.k) || !(window < kInfinity)) return {{0, gives_epsilon_ ? kInfinity : 1.}};
    double step = coarseness * choose_step(s, slope, epsilon, tilted, window);
    for (const Part& part : outline_) {
      const double points = grid_points(part.event, step, tail_, highest);
      if (!(points < kMostPoints)) step *= points / kMostPoints * 1.01;
    }
    step = std::exp2(std::floor(4 * std::log2(step)) / 4);  // questions that differ little share their grids
    double size = window / step;
    if (fineness_ > 1 && size < kMostPoints) {
      // Many transforms: where the next smaller one nearly holds the window, a step more of the ladder lets it.
      const double smaller = static_cast<double>(std::bit_floor(static_cast<std::size_t>(size)));
      if (size > smaller && size <= 1.18 * smaller) step *= std::exp2(.25), size = window / step;
    }
    for (int attempt = 0;; ++attempt) {
      const std::size_t points = std::bit_ceil(static_cast<std::size_t>(std::clamp(size, 64., kMostPoints)));
      TiltedSum sum(direction, s, step, deviation, points);
      for (const Piece& piece : pieces) sum.add(*grids_.get(piece, step, tail_, highest), piece.count);
      sum.finish();
      const TiltedSum::Answer answer = gives_epsilon_ ? sum.epsilon(target_, most + 4 * step) : sum.delta(target_);
      const auto used = static_cast<double>(points);
      if (answer.size <= used || used >= kMostPoints || attempt == 3) return {answer.interval, step};
      size = std::max(answer.size, 2 * used);
    }
  }

  double target_;
  double fineness_ = 1;
  bool gives_epsilon_;
  double width_;
  Grids& grids_;
  double count_;
  std::vector<Piece> pieces_;
  std::vector<Piece> first_;   // for coarse answers
  std::vector<Part> outline_;  // few steps that cost about, and at least, what the pieces do: for the cumulants
  double tail_ = 0;
  std::optional<RunCumulants> run_cumulants_;
};

PldAccountant::PldAccountant(double width, std::size_t most_kinds)
    : width_(width), most_kinds_(most_kinds), grids_(std::make_unique<Grids>()) {
  check_input(width >= 1e-4 && width <= .5, "relative width is {}: must be in [1e-4, .5]", width);
}

PldAccountant::~PldAccountant() = default;

Spent PldAccountant::epsilon_of(const Events& events, double delta, std::span<const Direction> directions) const {
  check_input(delta >= 0 && delta <= 1, "delta is {}: must be in [0, 1]", delta);
  const Run run = run_of(events);
  Spent spent{.delta = delta, .delta_lower = delta};
  if (run.empty() || delta == 1) return spent;
  if (delta == 0 || run.revealed > 0) {
    spent.epsilon = kInfinity;
    const bool unbounded = directions.front() == Direction::remove && (delta == 0 || delta < run.revealed * (1 - 1e-12));
    spent.epsilon_lower = unbounded ? kInfinity : 0;
    return spent;
  }
  if (total_variation(run) <= delta) return spent;

  const auto include = [&](const Interval& interval) {
    spent.epsilon = std::max(spent.epsilon, interval.upper);
    spent.epsilon_lower = std::max(spent.epsilon_lower, interval.lower);
  };
  if (run.exact()) {
    for (Direction direction : directions) include(exact_epsilon(run, delta, direction));
    return spent;
  }
  const Ends ends = ends_of(run, most_kinds_);
  Question question(run, ends.upper, ends.differ, delta, true, width_, *grids_);
  Direction worse = directions.front();
  for (Direction direction : directions) {
    if (!question.possible()) {
      include({0, kInfinity});
    } else if (spent.grid == 0 || question.bound(direction) >= spent.epsilon_lower) {
      const Question::Answer answer = question.ask(direction, spent.epsilon_lower);
      if (answer.interval.upper >= spent.epsilon) spent.grid = answer.step, worse = direction;
      include(answer.interval);
    }
  }
  if (ends.differ) {
    // What was found stands for the steps from above only.
    Question below(run, pieces_of(ends.lower), true, delta, true, width_, *grids_);
    spent.epsilon_lower = below.possible() && std::isfinite(spent.epsilon) ? below.ask_near(worse, spent.epsilon).interval.lower : 0;
  }
  if (!(spent.epsilon - spent.epsilon_lower <= .02 * spent.epsilon + 1e-6) || std::isinf(spent.epsilon)) {
    // Beyond what the grid carries other bounds may be better.
    spent.epsilon = std::min(spent.epsilon, RdpAccountant().epsilon(events, delta).epsilon);
    const double least = least_of_parts(run, [&](const Run& part) { return exact_epsilon(part, delta, directions.front()).lower; });
    spent.epsilon_lower = std::min(spent.epsilon, std::max(spent.epsilon_lower, least));
  }
  return spent;
}

Spent PldAccountant::delta_of(const Events& events, double epsilon, std::span<const Direction> directions) const {
  check_input(epsilon >= 0, "epsilon is {}: must be at least 0", epsilon);
  const Run run = run_of(events);
  Spent spent{.epsilon = epsilon, .epsilon_lower = epsilon};
  if (run.empty() || std::isinf(epsilon)) return spent;
  if (run.revealed > 0) {
    spent.delta = 1;
    spent.delta_lower = directions.front() == Direction::remove ? run.revealed * (1 - 1e-12) : 0;
    return spent;
  }
  const auto include = [&](const Interval& interval) {
    spent.delta = std::max(spent.delta, interval.upper);
    spent.delta_lower = std::max(spent.delta_lower, interval.lower);
  };
  if (run.exact()) {
    for (Direction direction : directions) include(exact_delta(run, epsilon, direction));
    return spent;
  }
  const Ends ends = ends_of(run, most_kinds_);
  Question question(run, ends.upper, ends.differ, epsilon, false, width_, *grids_);
  Direction worse = directions.front();
  for (Direction direction : directions) {
    if (!question.possible()) {
      include({0, 1});
    } else if (spent.grid == 0 || question.bound(direction) >= spent.delta_lower) {
      const Question::Answer answer = question.ask(direction, spent.delta_lower);
      if (answer.interval.upper >= spent.delta) spent.grid = answer.step, worse = direction;
      include(answer.interval);
    }
  }
  if (ends.differ) {
    Question below(run, pieces_of(ends.lower), true, epsilon, false, width_, *grids_);
    spent.delta_lower = below.possible() ? below.ask_near(worse, 0).interval.lower : 0;
  }
  spent.delta = std::min(spent.delta, total_variation(run));
  if (spent.delta - spent.delta_lower > .02 * spent.delta) {
    spent.delta = std::min(spent.delta, RdpAccountant().delta(events, epsilon).delta);
    const double least = least_of_parts(run, [&](const Run& part) { return exact_delta(part, epsilon, directions.front()).lower; });
    spent.delta_lower = std::min(spent.delta, std::max(spent.delta_lower, least));
  }
  return spent;
}

Spent PldAccountant::epsilon(const Events& events, double delta) const { return epsilon_of(events, delta, kBoth); }
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
