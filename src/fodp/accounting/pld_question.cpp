#include "fodp/accounting/pld_question.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "fodp/accounting/tilted_sum.h"

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostPoints = 1 << 22;     // of a grid or a window: some 100 MB in all
constexpr double kComfortPoints = 1 << 13;  // up to here more accuracy than promised is cheap
constexpr double kCoarse = 6;               // steps of a first answer over those of the last
constexpr double kGrouped = 3;              // steps for the upper end of groups over those for both ends
constexpr double kLeastNoise = .02;         // below, masses leave the range of doubles
constexpr std::size_t kMostOutlined = 24;   // for what need not be certified

// Steps are taken from a ladder: questions that differ little share their grids.
double on_ladder(double step) { return std::exp2(std::floor(4 * std::log2(step)) / 4); }

Interval both(const Interval& a, const Interval& b) { return {std::max(a.lower, b.lower), std::min(a.upper, b.upper)}; }

}  // namespace

std::vector<Piece> pieces_of(const std::vector<CountedStep>& parts) {
  std::vector<Piece> pieces;
  pieces.reserve(parts.size());
  for (const auto& [event, count] : parts) pieces.push_back({event, event, 0, count});
  return pieces;
}

// With what the answer near an epsilon is computed.
struct PldQuestion::Frame {
  Look look;
  double highest = 0;       // loss at which the grids end
  double s = 0, slope = 0;  // the tilt; how fast the logarithm of delta falls with epsilon
  double window = 0;        // how much of the sum's range must be told apart
  Cumulants::Value tilted;  // of the sum
  double excess = 0;        // of a closer look: what it would add to epsilon at best, about
};

PldQuestion::PldQuestion(const PldRun& run, std::vector<Piece> pieces, bool grouped, double target, Asks asks, double width,
                         GridCache& grids)
    : target_(target),
      gives_epsilon_(asks == Asks::epsilon),
      width_(width),
      grids_(grids),
      count_(run.count),
      pieces_(std::move(pieces)),
      outline_(run.parts) {
  if (grouped) {
    outline_.clear();
    for (const Group& group : group_steps(run.parts, kMostOutlined)) outline_.push_back({group.most, group.count});
    fineness_ = gives_epsilon_ ? kGrouped : kCoarse;
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
  if (!gives_epsilon_) {
    delta = kInfinity;
    for (Direction direction : {Direction::remove, Direction::add})
      delta = std::min(delta, std::exp(cumulants(1e-20 / count_, kInfinity).for_epsilon(target, direction).bound));
    delta = std::max(delta, 1e-200);
  }
  // A power of ten, so that the questions of one run share their grids.
  tail_ = std::max(1e-290, std::pow(10, std::floor(std::log10(1e-7 * delta / count_))));
  run_cumulants_.emplace(cumulants(tail_, kInfinity));
}

bool PldQuestion::possible() const {
  return std::all_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.high.noise_multiplier >= kLeastNoise * static_cast<double>(piece.high.records);
  });
}

double PldQuestion::bound(Direction direction) const {
  if (gives_epsilon_) return run_cumulants_->for_delta(target_ * .999, direction).bound * (1 + 1e-9);
  return std::exp(run_cumulants_->for_epsilon(target_, direction).bound) * 1.001;
}

PldQuestion::Answer PldQuestion::ask_near(Direction direction, double about) const {
  return gives_epsilon_ ? solve(pieces_, direction, about, 1) : solve(pieces_, direction, target_, fineness_);
}

PldQuestion::Answer PldQuestion::ask(Direction direction, double known) const {
  if (!gives_epsilon_) return closer(direction, solve(pieces_, direction, target_, fineness_), target_);
  const double chernoff = run_cumulants_->for_delta(target_, direction).bound;
  Answer best = first_answer(direction, chernoff);
  if (std::isfinite(best.interval.upper)) {
    if (best.interval.upper <= known) return best;
    Answer fine = solve(pieces_, direction, best.interval.upper, fineness_);
    fine.interval = both(best.interval, fine.interval);
    best = fine;
  }
  return best.interval.upper <= known ? best : closer(direction, best, chernoff);
}

// Chernoff's bound may be far above the truth: coarse answers, each with the tilt and the grid that belong to the one before.
PldQuestion::Answer PldQuestion::first_answer(Direction direction, double epsilon) const {
  Answer best{{0, kInfinity}};
  if (!std::isfinite(epsilon)) return best;
  epsilon = std::max(0., epsilon);
  for (int i = 0; i < 12; ++i) {
    const Answer coarse = solve(first_, direction, epsilon, kCoarse);
    best = {both(best.interval, coarse.interval), coarse.step};
    if (fineness_ > 1) best.interval.lower = 0;  // what stands for the pieces costs at least as much, not at most
    if (!std::isfinite(coarse.interval.upper) || coarse.interval.upper > .8 * epsilon) break;
    epsilon = coarse.interval.upper;
  }
  return best;
}

// Many steps that hardly ever lose anything, so that delta is made of the few that do: rounding, or the size of the window, may leave an
// interval too wide or an upper end too high. Where about the answer lies, at most at `epsilon`, allows for more.
PldQuestion::Answer PldQuestion::closer(Direction direction, Answer answer, double epsilon) const {
  constexpr int kMostLooks = 6;
  for (int i = 0; i < kMostLooks && fineness_ == 1 && std::isfinite(epsilon); ++i) {
    const auto [lower, upper] = answer.interval;
    if (gives_epsilon_) epsilon = std::min(epsilon, upper);
    const bool narrow = std::isfinite(upper) && upper - lower <= std::max(width_ * upper, gives_epsilon_ ? 1e-6 : 0.);
    if (narrow && answer.excess <= std::max(3e-5 * epsilon, 3e-7)) break;
    Answer next = solve(pieces_, direction, epsilon, 1, Look::closer);
    if (!(next.step > 0)) break;
    next.interval = both(answer.interval, next.interval);
    answer = next;
    if (!(answer.interval.upper < .99 * upper)) break;
  }
  return answer;
}

RunCumulants PldQuestion::cumulants(double tail, double highest) const {
  std::vector<CountedCumulants> parts;
  for (const auto& [event, count] : outline_) parts.push_back({Cumulants(event, tail, highest), count});
  return RunCumulants(std::move(parts));
}

// The largest step with which the grid adds at most `excess` to epsilon and the interval is at most `width` wide. `needed` is how
// unlikely, by its logarithm, a spread must be that is not given back.
double PldQuestion::step_for(double s, double needed, double excess, double width) const {
  // An event's spread on the grid has a variance of step^2/6 and a mean of half of it; under the tilt epsilon grows by this.
  const double for_excess = std::sqrt(12 * excess / (count_ * (s + 1)));
  // What the lower end gives back: 2*sqrt(scale*needed) + (2s+1)*scale, scale = count*step^2/8 (TiltedSum::give_back).
  const double root = std::sqrt(needed + (2 * s + 1) * width) - std::sqrt(needed);
  return std::min(for_excess, std::max(width / count_, root / (2 * s + 1) * std::sqrt(8 / count_)));
}

// log of what delta is made of, beside the largest weight; `epsilon` is about where the answer lies.
double PldQuestion::log_share(double s, double epsilon, const Cumulants::Value& tilted) const {
  return gives_epsilon_ ? std::log(target_) + s * epsilon - tilted.k - log_largest_weight(s)
                        : -std::log1p(s * std::sqrt(tilted.variance)) - 2;
}

double PldQuestion::choose_step(const Frame& frame, double epsilon) const {
  const double needed = std::log(1e3) + std::clamp(-log_share(frame.s, epsilon, frame.tilted), 0., 100.);
  // An error of e in epsilon is one of about slope*e in the logarithm of delta.
  const double value = gives_epsilon_ ? epsilon : .6 / frame.slope;
  const double comfortable = step_for(frame.s, needed, 1.5e-5 * value, .4 * width_ * value);
  if (frame.window / comfortable <= kComfortPoints) return comfortable;
  const double floor = gives_epsilon_ ? 5e-7 : 0;
  const double promised = step_for(frame.s, needed, std::max(3.5e-5 * value, floor), std::max(.75 * width_ * value, floor));
  return std::max(std::min(promised, frame.window / kComfortPoints), frame.window / kMostPoints);
}

// A ratio so large that no others make up for it need not be told from a larger one: the grid ends there. To remove it is a loss far
// above epsilon, to add a gain that nothing outweighs.
double PldQuestion::highest_loss(Direction direction, double epsilon, Look look) const {
  if (look == Look::closer && direction == Direction::remove) return 1.02 * epsilon + 1.1 * run_cumulants_->depth(16, direction);
  const double most = 1.3 * epsilon;
  const double wanted =
      1.1 * (most + (direction == Direction::remove
                         ? 2 * run_cumulants_->depth(25, direction)
                         : run_cumulants_->reach(run_cumulants_->for_epsilon(epsilon, direction).s, 25, direction).both()));
  return std::isfinite(wanted) ? std::exp2(std::ceil(4 * std::log2(wanted)) / 4) : kInfinity;
}

PldQuestion::Frame PldQuestion::frame_at(const RunCumulants& within, double s, Direction direction, double epsilon, Look look) const {
  Frame frame{.look = look, .s = s, .tilted = within.at(s, direction)};
  const double log_found = log_share(s, epsilon, frame.tilted);
  const RunCumulants::Reach reach = within.reach(s, std::log(1e6) + std::clamp(-log_found, 0., 100.), direction, look == Look::closer);
  frame.window = 2.1 * reach.both();
  if (look == Look::usual) return frame;
  // As TiltedSum::size_for() for a window around the answer.
  const double log_weighed = log_found + log_largest_weight(s), untilted = std::log(1e6) + s * epsilon - frame.tilted.k - log_weighed;
  frame.window = 1.05 * std::max(frame.tilted.mean + reach.right - epsilon, untilted / s);
  // About what the coarsest grid that this window allows, and rounding, would add.
  const double step = frame.window / kMostPoints;
  const double rounding = 4e-14 * count_ / std::sqrt(14 * s * s * s * std::sqrt(frame.tilted.variance));
  frame.excess = count_ * step * step * (s + 1) / 12 + rounding * std::exp(-log_weighed) / s;
  return frame;
}

// Nothing where the cumulants are not finite, or a closer look would be one at a delta below 1e-100.
std::optional<PldQuestion::Frame> PldQuestion::frame(Direction direction, double epsilon, Look look) const {
  const double highest = highest_loss(direction, epsilon, look);
  const RunCumulants within = cumulants(tail_, highest);
  const double slope = within.for_epsilon(epsilon, direction).s;
  Frame best = frame_at(within, look == Look::usual ? within.narrow(slope, epsilon, direction) : slope, direction, epsilon, look);
  if (look == Look::closer)
    // A smaller tilt is spread less and needs less of a window, but leaves less of delta beside rounding.
    for (double s = .95 * slope; s > slope / 3; s *= .95)
      if (const Frame next = frame_at(within, s, direction, epsilon, look); next.excess < best.excess) best = next;
  best.highest = highest, best.slope = slope;
  constexpr double kLeastLog = -230;
  if (look == Look::closer && !(best.tilted.k - best.s * epsilon > kLeastLog)) return std::nullopt;
  if (!(best.tilted.variance > 0) || !std::isfinite(best.tilted.k) || !(best.window < kInfinity)) return std::nullopt;
  return best;
}

double PldQuestion::step_of(const Frame& frame, double epsilon, double coarseness) const {
  double step = coarseness * choose_step(frame, epsilon);
  for (const CountedStep& part : outline_) {
    const double points = grid_points(part.event, step, tail_, frame.highest);
    if (!(points < kMostPoints)) step *= points / kMostPoints * 1.01;
  }
  step = on_ladder(step);
  const double size = frame.window / step, above = step * std::exp2(.25);
  if (frame.look == Look::closer) return size > kMostPoints ? above : step;
  if (fineness_ > 1 && size < kMostPoints) {
    // Many transforms: where the next smaller one nearly holds the window, a step more of the ladder lets it.
    const double smaller = static_cast<double>(std::bit_floor(static_cast<std::size_t>(size)));
    if (size > smaller && size <= 1.18 * smaller) return above;
  }
  return step;
}

// Near `epsilon`; a `coarseness` above 1 asks for less accuracy.
PldQuestion::Answer PldQuestion::solve(const std::vector<Piece>& pieces, Direction direction, double epsilon, double coarseness,
                                       Look look) const {
  const std::optional<Frame> chosen = frame(direction, epsilon, look);
  if (!chosen) return {{0, gives_epsilon_ ? kInfinity : 1.}};
  const double step = step_of(*chosen, epsilon, coarseness);
  const bool close = look == Look::closer;  // the answer is known to lie at or below epsilon
  const std::optional<double> around = close ? std::optional(epsilon) : std::nullopt;
  const double most = (close ? 1 : 1.3) * epsilon + 4 * step;
  double size = chosen->window / step;
  for (int attempt = 0;; ++attempt) {
    const std::size_t points = std::bit_ceil(static_cast<std::size_t>(std::clamp(size, 64., kMostPoints)));
    TiltedSum sum(direction, chosen->s, step, std::sqrt(chosen->tilted.variance), points, around);
    for (const Piece& piece : pieces) sum.add(*grids_.get(piece, step, tail_, chosen->highest), piece.count);
    sum.finish();
    const TiltedSum::Answer answer = gives_epsilon_ ? sum.epsilon(target_, most) : sum.delta(target_);
    const auto used = static_cast<double>(points);
    if (answer.size <= used || used >= kMostPoints || attempt == 3) return {answer.interval, step, answer.error_share / chosen->slope};
    size = std::max(answer.size, 2 * used);
  }
}

}  // namespace fodp
