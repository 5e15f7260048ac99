#include "fodp/accounting/loss_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "fodp/accounting/group_loss.h"

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = std::numeric_limits<double>::epsilon();

double upper_tail(double t) { return .5 * std::erfc(t / std::numbers::sqrt2); }

// Least t in [low, high] with f(t) <= bound, for a falling f, to a thousandth and from above.
template <class F>
double first_below(const F& f, double bound, double low, double high) {
  while (high - low > 1e-3) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;  // neighbours, where doubles are further apart than that
    (f(middle) <= bound ? high : low) = middle;
  }
  return high;
}

// Likelihood ratio of the two normals, by its logarithm, where the mixture's is exp(loss).
double log_ratio_at(double q, double loss) {
  if (q == 1) return loss;
  if (loss > 30) return loss - std::log(q) + std::log1p(-(1 - q) * std::exp(-loss));
  const double excess = std::expm1(loss) / q;
  return excess > -1 ? std::log1p(excess) : -kInfinity;
}

constexpr double kReach = 13;  // a normal tail beyond is below e^-84 of what is before

// Mass under Q of the outcomes between two grid points, as it is shared between these: times exp(log_scale).
struct Share {
  double low = 0, high = 0;
  double log_scale = 0;
};

// Gauss-Legendre on panels so short that its error is below the last place: the logarithm of the integrand changes by at most .5 over one.
class Panels {
 public:
  explicit Panels(double inverse_noise) : slope_(inverse_noise) {}

  // Calls f(t, weight * density(t) * exp(-log_scale)) at the nodes in [begin, end]; returns log_scale.
  template <class F>
  double each(double begin, double end, const F& f) const {
    const double nearest = begin > 0 ? begin : (end < 0 ? end : 0), scale = nearest * nearest / 2;
    // Beyond there is nothing, under either normal, beside what is within.
    begin = std::max(begin, nearest - kReach);
    end = std::min(end, std::max(nearest, slope_) + kReach);
    const double steepness = (std::max(std::abs(begin), std::abs(end)) + slope_) * (end - begin);
    if (steepness < .15) {
      panel(begin, end, scale, kFour, f);
    } else {
      const int count = static_cast<int>(std::ceil(2 * steepness));
      for (int i = 0; i < count; ++i)
        panel(begin + (end - begin) * i / count, i + 1 == count ? end : begin + (end - begin) * (i + 1) / count, scale, kFive, f);
    }
    return -scale;
  }

 private:
  struct Node {
    double place, weight;
  };
  static constexpr Node kFour[] = {{-.8611363115940526, .3478548451374538},
                                   {-.3399810435848563, .6521451548625461},
                                   {.3399810435848563, .6521451548625461},
                                   {.8611363115940526, .3478548451374538}};
  static constexpr Node kFive[] = {{-.9061798459386640, .2369268850561891},
                                   {-.5384693101056831, .4786286704993665},
                                   {0, .5688888888888889},
                                   {.5384693101056831, .4786286704993665},
                                   {.9061798459386640, .2369268850561891}};

  template <std::size_t N, class F>
  static void panel(double begin, double end, double scale, const Node (&nodes)[N], const F& f) {
    const double middle = (begin + end) / 2, half = (end - begin) / 2, factor = half * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    for (const Node& node : nodes) {
      const double t = middle + half * node.place;
      f(t, factor * node.weight * std::exp(scale - t * t / 2));
    }
  }

  double slope_;
};

class Discretisation {
 public:
  Discretisation(const SampledGaussian& event, double step)
      : q_(event.sample_rate), slope_(1 / event.noise_multiplier), panels_(static_cast<double>(event.records) * slope_) {
    event_ = event;
    step_ = step;
    if (event.records > 1) group_.emplace(event);
  }

  double edge(std::int64_t j) const {
    const double loss = static_cast<double>(j) * step_;
    return group_ ? group_->where(loss) : deviation_at(event_, loss);
  }

  // Between the grid points at t = begin and t = end; begin = -inf where the loss never falls to the lower point, `low_loss`.
  Share between(double begin, double end, double low_loss) const {
    Share share;
    if (group_) {
      const GroupLoss::Cell cell(*group_, begin, end, low_loss);
      share.log_scale = panels_.each(std::isinf(begin) ? std::min(end, 0.) - kReach : begin, end, [&](double t, double mass) {
        const auto [low, high] = cell.at(t);
        share.low += mass * low, share.high += mass * high;
      });
      return share;
    }
    if (std::isinf(begin)) {
      // The ratio of the normals at the grid points, relative to that at the upper one; negative at the lower.
      const double low_ratio = (std::expm1(low_loss) + q_) / q_ * std::exp(-(end - slope_ / 2) * slope_);
      share.log_scale = panels_.each(std::min(end, 0.) - kReach, end, [&](double t, double mass) {
        const double ratio = std::exp((t - end) * slope_);
        share.high += mass * (ratio - low_ratio) / (1 - low_ratio);
        share.low += mass * -std::expm1((t - end) * slope_) / (1 - low_ratio);
      });
      return share;
    }
    const double width = (end - begin) * slope_;
    if (width < 1) {
      const double scale = 1 / std::expm1(width);
      share.log_scale = panels_.each(begin, end, [&](double t, double mass) {
        const double up = mass * scale * std::expm1((t - begin) * slope_);
        share.high += up;
        share.low += mass - up;
      });
    } else {
      const double scale = 1 / std::expm1(-width);
      share.log_scale = panels_.each(begin, end, [&](double t, double mass) {
        share.high += mass * scale * std::exp((t - end) * slope_) * std::expm1((begin - t) * slope_);
        share.low += mass * scale * std::expm1((t - end) * slope_);
      });
    }
    return share;
  }

  // Below the first grid point, where the loss has no bound: its P-mass moves up to the point.
  Share below(double end, double end_loss) const {
    Share share;
    share.log_scale = panels_.each(end - kReach, end, [&](double t, double mass) {
      const double moved = mass * std::exp(loss_at(event_, t) - end_loss);
      share.high += moved;
      share.low += mass - moved;
    });
    return share;
  }

  // Above the last grid point: its Q-mass moves down to the point.
  Share above(double begin) const {
    Share share;
    share.log_scale = panels_.each(begin, std::max(begin, 0.) + kReach, [&](double, double mass) { share.low += mass; });
    return share;
  }

 private:
  SampledGaussian event_;
  double q_, slope_, step_;
  Panels panels_;
  std::optional<GroupLoss> group_;  // of more than one record
};

double log_sum(double a, double log_a, double b, double log_b) {
  if (!(a > 0)) return std::log(b) + log_b;
  if (!(b > 0)) return std::log(a) + log_a;
  const double scale = std::max(log_a, log_b);
  return std::log(a * std::exp(log_a - scale) + b * std::exp(log_b - scale)) + scale;
}

struct Ends {
  std::int64_t first, last;
};

Ends ends(const SampledGaussian& event, double step, double tail, double highest) {
  const Deviations range = deviations(event, tail);
  const double low = loss_at(event, range.low), high = std::min(highest, loss_at(event, range.high));
  const auto last = static_cast<std::int64_t>(std::ceil(high / step));
  const auto lowest = static_cast<std::int64_t>(std::floor(low / step));
  return {std::min(lowest, last - 1), last};
}

double log_add(double log_a, double log_b) { return log_a == -kInfinity ? log_b : log_sum(1, log_a, 1, log_b); }

LossGrid grid_between(const SampledGaussian& event, double step, const Ends& range);

}  // namespace

double loss_at(const SampledGaussian& event, double t) {
  if (event.records > 1) return GroupLoss(event).at(t);
  const double slope = 1 / event.noise_multiplier, log_ratio = (t - slope / 2) * slope;
  if (event.sample_rate == 1) return log_ratio;
  if (log_ratio > 30) return log_ratio + std::log(event.sample_rate + (1 - event.sample_rate) * std::exp(-log_ratio));
  return std::log1p(event.sample_rate * std::expm1(log_ratio));
}

double deviation_at(const SampledGaussian& event, double loss) {
  if (event.records > 1) return GroupLoss(event).where(loss);
  return .5 / event.noise_multiplier + event.noise_multiplier * log_ratio_at(event.sample_rate, loss);
}

Deviations deviations(const SampledGaussian& event, double tail) {
  const double q = event.sample_rate, slope = 1 / event.noise_multiplier;
  if (event.records > 1) {
    const GroupLoss group(event);
    const auto above = [&](double t) { return group.mass_above(t); };
    return {-first_below(upper_tail, tail, 0, 38), first_below(above, tail, 0, group.steepest() + 38)};
  }
  const auto p_above = [&](double t) { return q * upper_tail(t - slope) + (1 - q) * upper_tail(t); };
  return {-first_below(upper_tail, tail, 0, 38), first_below(p_above, tail, 0, slope + 38)};
}

double grid_points(const SampledGaussian& event, double step, double tail, double highest) {
  const Deviations range = deviations(event, tail);
  return (std::min(highest, loss_at(event, range.high)) - loss_at(event, range.low)) / step + 3;
}

LossGrid make_loss_grid(const SampledGaussian& event, double step, double tail, double highest) {
  return grid_between(event, step, ends(event, step, tail, highest));
}

LossGrid make_mixed_grid(const SampledGaussian& low, const SampledGaussian& high, double share, double step, double tail, double highest) {
  const Ends a = ends(low, step, tail, highest), b = ends(high, step, tail, highest),
             both{std::min(a.first, b.first), std::max(a.last, b.last)};
  LossGrid mixed = grid_between(low, step, both);
  const LossGrid other = grid_between(high, step, both);
  const double log_low = std::log1p(-share), log_high = std::log(share);
  const auto mix = [&](double of_low, double of_high) { return log_add(of_low + log_low, of_high + log_high); };
  for (std::size_t i = 0; i < mixed.log_q.size(); ++i) mixed.log_q[i] = mix(mixed.log_q[i], other.log_q[i]);
  for (const auto& [end, of_high] : {std::pair(&mixed.below, &other.below), std::pair(&mixed.above, &other.above)}) {
    end->p += share * (of_high->p - end->p);
    end->q += share * (of_high->q - end->q);
    end->log_moved = mix(end->log_moved, of_high->log_moved);
  }
  // Raised once more, for the rounding of the logarithms.
  double lowest = 0;
  for (double log_q : mixed.log_q) lowest = log_q > -kInfinity ? std::min(lowest, log_q) : lowest;
  const double raise = kUnit * (10 + 4 * std::abs(lowest));
  for (double& log_q : mixed.log_q) log_q += raise;
  mixed.mass_error = std::max(mixed.mass_error, other.mass_error) + 2 * raise;
  mixed.loss_error = std::max(mixed.loss_error, other.loss_error);
  return mixed;
}

namespace {

// `furthest` is the largest |t| of a grid point.
void raise_for_rounding(const SampledGaussian& event, double furthest, LossGrid& grid) {
  // Rounding: of t and of the exponential of its square; of the logarithm kept. Raised, so that each mass is at least the exact one.
  double lowest = 0;
  for (double log_q : grid.log_q) lowest = log_q > -kInfinity ? std::min(lowest, log_q) : lowest;
  // A grid point's t, rounded, is where the loss differs by this; less where the Gaussians' ratio moves the mixture's little.
  const double largest = std::max(std::abs(static_cast<double>(grid.first)), std::abs(static_cast<double>(grid.last()))) * grid.step;
  double raise = kUnit * (40 + 4 * furthest * furthest + 2 * std::abs(lowest));
  if (event.records > 1) {
    grid.loss_error = kUnit * (16 * largest + GroupLoss(event).rounding(furthest));
    raise += grid.loss_error;
  } else {
    const double share = std::min(1., event.sample_rate * std::exp(std::min(700., log_ratio_at(event.sample_rate, largest))));
    const double inverse = 1 / event.noise_multiplier;
    grid.loss_error = 4 * kUnit * (largest + event.sample_rate + share * (furthest + inverse) * inverse);
  }
  for (double& log_q : grid.log_q) log_q += raise;
  grid.mass_error = 2 * raise;
}

LossGrid grid_between(const SampledGaussian& event, double step, const Ends& range) {
  const auto [first, last] = range;
  // The loss never falls to the first point.
  const double least = event.sample_rate < 1 ? static_cast<double>(event.records) * std::log1p(-event.sample_rate) : -kInfinity;
  const bool bounded_below = static_cast<double>(first) * step <= least;
  const Discretisation cut(event, step);
  LossGrid grid{.step = step, .first = first};
  grid.log_q.reserve(static_cast<std::size_t>(last - first + 1));

  double begin = cut.edge(first), furthest = 0;
  grid.below.log_moved = -kInfinity;
  if (bounded_below) {
    begin = -kInfinity;
  } else {
    const Share share = cut.below(begin, static_cast<double>(first) * step);
    grid.below.log_moved = std::log(share.high) + share.log_scale;
    grid.below.p = std::exp(grid.below.log_moved + static_cast<double>(first) * step);
    grid.below.q = upper_tail(-begin);
    furthest = std::abs(begin);
  }
  Share before;
  for (std::int64_t j = first; j < last; ++j) {
    const double end = cut.edge(j + 1);
    const Share share = std::isinf(end) ? Share{} : cut.between(begin, end, static_cast<double>(j) * step);
    grid.log_q.push_back(log_sum(before.high, before.log_scale, share.low, share.log_scale));
    before = share;
    begin = end;
  }
  furthest = std::max(furthest, std::abs(begin));
  grid.log_q.push_back(std::log(before.high) + before.log_scale);
  const Share rest = cut.above(begin);
  grid.above.log_moved = std::log(rest.low) + rest.log_scale;
  grid.above.p = event.records > 1
                     ? GroupLoss(event).mass_above(begin)
                     : event.sample_rate * upper_tail(begin - 1 / event.noise_multiplier) + (1 - event.sample_rate) * upper_tail(begin);
  grid.above.q = upper_tail(begin);
  raise_for_rounding(event, furthest, grid);
  return grid;
}

}  // namespace

}  // namespace fodp
