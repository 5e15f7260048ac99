#include "fodp/accounting/tilted_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "fodp/accounting/cumulants.h"

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = std::numeric_limits<double>::epsilon();
constexpr double kNegligible = 60;  // e^-60 is beside 1

// Share of a lower bound that may be lost to outcomes whose spread is larger than what is given back: little beside `exponent`, which is
// s*epsilon, so that it costs little of epsilon.
double spread_share(double exponent) { return std::clamp(5e-4 * exponent, 1e-9, 1e-3); }

std::size_t wrapped(double offset, std::size_t size) {
  return static_cast<std::size_t>(static_cast<std::int64_t>(offset) & static_cast<std::int64_t>(size - 1));
}

}  // namespace

TiltedSum::TiltedSum(Direction direction, double s, double step, double deviation, std::size_t size, std::optional<double> around)
    : direction_(direction),
      s_(s),
      step_(step),
      around_(around),
      fourier_(size),
      tails_(deviation, step, around ? static_cast<double>(size) * step : 0),
      product_(size / 2 + 1, Complex{1, 0}) {}

void TiltedSum::add(const LossGrid& grid, double count) {
  const bool remove = direction_ == Direction::remove;
  const Tilted tilted = tilt(grid, count);
  const double first = static_cast<double>(grid.first), last = static_cast<double>(tilted.masses.size() - 1);
  place(tilted, first, count);
  tails_.add(tilted.masses, static_cast<std::size_t>(std::clamp(tilted.mean - first, 0., last)), remove, count);

  // What is below the grid, in this direction, joined its lower end; what is above is dealt with apart, in beyond().
  const Beyond &near = remove ? grid.below : grid.above, &far = remove ? grid.above : grid.below;
  moved_ += count * (remove ? near.p : near.q);
  log_p_within_ += count * std::log1p(-(remove ? far.p : far.q));
  log_q_within_ += count * std::log1p(-(remove ? far.q : far.p));
  far_.push_back({count * (remove ? far.p : far.q), count * (remove ? far.q : far.p),
                  (remove ? static_cast<double>(grid.last()) : -first) * step_ - grid.loss_error});
  loss_error_ += count * grid.loss_error;
  count_ += count;

  fourier_.forward(values_, spectrum_);
  multiply_power(count);
}

// The masses of a grid under the tilt, with what is below the grid at its lower end, and what they add to K and its error.
TiltedSum::Tilted TiltedSum::tilt(const LossGrid& grid, double count) {
  const bool remove = direction_ == Direction::remove;
  const std::size_t points = grid.log_q.size(), end = remove ? 0 : points - 1;
  const double rate = (remove ? s_ + 1 : -s_) * step_, first = static_cast<double>(grid.first);
  const double log_near = (remove ? grid.below : grid.above).log_moved + rate * (first + static_cast<double>(end));
  double largest = log_near;
  for (std::size_t i = 0; i < points; ++i) largest = std::max(largest, grid.log_q[i] + rate * (first + static_cast<double>(i)));

  Tilted tilted{.masses = std::vector<double>(points)};
  double total = 0, moment = 0, doubt = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const double place = first + static_cast<double>(i), log_tilt = rate * place;
    const double mass = std::exp(grid.log_q[i] + log_tilt - largest) + (i == end ? std::exp(log_near - largest) : 0);
    if (!(mass > 0)) continue;
    tilted.masses[i] = mass;
    total += mass;
    moment += mass * place;
    doubt += mass * (std::abs(log_tilt) + std::abs(grid.log_q[i]));
  }
  const double log_mass = largest + std::log(total), sign = remove ? 1 : -1;
  tilted.mean = std::round(moment / total);
  log_total_ += count * log_mass;
  log_error_ += count * (grid.mass_error + kUnit * (20 + 2 * doubt / total + 2 * std::abs(log_mass)));
  shift_ += count * sign * tilted.mean;
  centre_ += count * sign * (moment / total - tilted.mean);
  moved_tilted_ += count * std::exp(log_near - log_mass);
  for (double& mass : tilted.masses) mass /= total;
  return tilted;
}

// Leaves the masses, folded to the size of the transform and moved so that their mean is at 0, in values_.
void TiltedSum::place(const Tilted& tilted, double first, double count) {
  const std::size_t points = tilted.masses.size();
  const double sign = direction_ == Direction::remove ? 1 : -1;
  values_.assign(fourier_.size(), 0);
  double squares = 0;
  for (std::size_t i = 0; i < points; ++i) {
    squares += tilted.masses[i] * tilted.masses[i];
    values_[wrapped(sign * (first + static_cast<double>(i) - tilted.mean), fourier_.size())] += tilted.masses[i];
  }
  // Folding adds masses of one place: their squares are at most doubled for each fold.
  const double folds = std::ceil(static_cast<double>(points) / static_cast<double>(fourier_.size()));
  const double norm = std::sqrt(squares * folds);
  kinds_.push_back({count, count * fourier_.relative_error() * norm});
  growth_ += count * fourier_.relative_error() * norm * std::sqrt(static_cast<double>(fourier_.size()));
  power_error_ += count * 20 * kUnit;
}

void TiltedSum::multiply_power(double count) {
  // Below this a power, however it is rounded, is negligible.
  const double least = std::exp(-2 * kNegligible / count);
  double least_kept = 1;
  for (std::size_t k = 0; k < spectrum_.size(); ++k) {
    const double squared = spectrum_[k].squared();
    if (squared < least || product_[k].squared() == 0) {
      product_[k] = {};
      continue;
    }
    least_kept = std::min(least_kept, squared);
    const double size = std::exp(.5 * count * std::log(squared)), angle = count * std::atan2(spectrum_[k].im, spectrum_[k].re);
    product_[k] = product_[k] * Complex{size * std::cos(angle), size * std::sin(angle)};
  }
  kinds_.back().uniform_error = count * fourier_.uniform_error() / std::sqrt(least_kept);
}

// How far the product of the computed transforms is from that of the exact ones, in the Euclidean norm; `norm` is that of the product
// itself. A kind's transform is near in the Euclidean norm, and its power, and all other powers, are at most 1. Or it is near at every
// frequency, so that its power is relatively near where it is not negligible, and the error is a share of the product: far less for many
// steps that hardly ever lose anything, whose transform is near 1 everywhere.
double TiltedSum::transform_error(double norm, bool by_frequency) const {
  constexpr double kFewest = 4;  // of fewer equal steps a power may be negligible where its base is not
  double apart = 0, shared = 0;
  for (const Kind& kind : kinds_) {
    if (by_frequency && kind.count >= kFewest && kind.uniform_error * norm < kind.norm_error)
      shared += kind.uniform_error;
    else
      apart += kind.norm_error;
  }
  return apart * std::exp(std::min(700., growth_)) + std::expm1(std::min(700., shared)) * norm;
}

void TiltedSum::finish() {
  double squares = 0;
  for (const Complex& value : product_) squares += 2 * value.squared();
  const double norm = std::sqrt(squares / static_cast<double>(fourier_.size()));
  fourier_.inverse(product_, values_);
  product_ = {}, spectrum_ = {};
  // A quarter of a window around a loss lies below it.
  centre_ = around_ ? std::round(*around_ / step_ - shift_) + static_cast<double>(fourier_.size()) / 4 : std::round(centre_);

  // Chernoff for grids that were cut; what little is beyond the natural end of others counts whole.
  double most = 0;
  for (const Far& far : far_) most = std::max(most, far.p);
  far_below_.assign(tails_.rates().size(), 0);
  for (const Far& far : far_) {
    if (far.p < 1e-6 * most) {
      far_q_ += far.q;
      continue;
    }
    for (std::size_t r = 0; r < far_below_.size(); ++r)
      far_below_[r] += far.q * std::exp(-std::max(0., tails_.rates()[r].value - s_ - 1) * far.edge);
  }

  // Of sum_l w(l) * p(l), where w(l) = exp(-s*x)*(1-exp(-x)) at x = l - epsilon: by Cauchy and Schwarz for what the transforms do.
  const double largest = std::exp(log_largest_weight(s_)), half = static_cast<double>(fourier_.size()) / 2;
  const double weights = std::min(static_cast<double>(fourier_.size()) * largest * largest,
                                  1 / (2 * s_ * (2 * s_ + 1) * (s_ + 1) * step_) + 2 * largest * largest);
  const double powers = (power_error_ + fourier_.relative_error()) * norm;
  error_ = std::sqrt(weights) * (transform_error(norm, false) + powers + 1e-24) +
           largest * (tails_.right_of(centre_ + half) + tails_.left_of(centre_ - half));
  sharper_error_ = std::sqrt(weights) * (transform_error(norm, true) + powers + 1e-24);
}

// What the window does to the weighed sum at a loss. Mass above the window is missing, where its weight is that of the window's end or
// less. It comes back in the window's lower end, where it does not count unless it was a whole window above the loss. Mass below the
// window comes back at its upper end, with a weight that undoes the tilt and is tiny beside what is left of the untilted mass, at most 1.
double TiltedSum::outside_at(double loss) const {
  const double size = static_cast<double>(fourier_.size()), offset = loss / step_ - shift_, largest = std::exp(log_largest_weight(s_));
  const double above = (centre_ + size / 2 - offset) * step_;
  const double at_end = above > std::log1p(1 / s_) ? std::exp(-s_ * above) * -std::expm1(-above) : largest;
  const double log_untilted = s_ * (loss - size * step_) - log_total_ + log_error_;
  const double below =
      std::min(largest * tails_.left_of(centre_ - size / 2), std::exp(std::min(700., log_untilted)) / -std::expm1(-s_ * size * step_));
  return at_end * tails_.right_of(centre_ + size / 2) + largest * tails_.right_of(offset + size) + below;
}

// A bound on the error of the weighed sum at a loss. Where the simpler one is negligible it is kept, so that the answers for ordinary runs
// are what they have always been, to the last bit: calibrated noise, and with it a training that shall be repeated, follows from them.
double TiltedSum::error_at(double loss, bool sharper) const { return sharper ? sharper_error_ + outside_at(loss) : error_; }
bool TiltedSum::simple_will_do(double loss, double weighed) const { return !around_ && error_ <= 2e-5 * std::max(1., s_ * loss) * weighed; }

double TiltedSum::mass(double offset) const { return values_[wrapped(centre_ + offset, fourier_.size())]; }

TiltedSum::Tail TiltedSum::next_below(const Tail& above, double mass) const {
  const double slow = std::exp(-s_ * step_), fast = std::exp(-(s_ + 1) * step_), rise = -std::expm1(-step_);
  return {slow * (above.weighed + rise * (above.decayed + mass)), fast * (above.decayed + mass)};
}

// What the spread on the grid can have added to the loss, but for this share of this weighed sum. Given its loss an event's
// spread N lies in an interval of one step and has E[exp(-N)] = 1, so that log E[exp(v*N)] <= v*(v+1)*step^2/8 for v > 0 (Hoeffding).
double TiltedSum::give_back(double weighed, double share) const {
  const double needed = log_largest_weight(s_) - std::log(share * weighed), scale = count_ * step_ * step_ / 8;
  const double rate = std::sqrt(std::max(0., s_ * (s_ + 1) + needed / scale));
  return std::min(count_ * step_, rate > 0 ? scale * (2 * rate + 2 * s_ + 1) : kInfinity);
}

// How large the window must be for what leaves it to be negligible beside this weighed sum at this loss.
double TiltedSum::size_for(double weighed, double loss) const {
  if (!(weighed > 0)) return 0;
  const double needed = log_largest_weight(s_) - std::log(1e-6 * weighed);
  if (!around_) return 2 * std::max(tails_.right_reach(needed) - centre_, tails_.left_reach(needed) + centre_);
  const double untilted = s_ * loss - log_total_ - std::log(1e-6 * weighed);
  return std::max(tails_.right_reach(needed) - (loss / step_ - shift_), untilted / (s_ * step_));
}

// The loss above which `excess`(loss, weighed sum at it) is nowhere above 0; `upper` tells on which side the search ends. -inf where it is
// above 0 nowhere in the window, +inf where it is at `most` or the upper end of the window.
template <class F>
double TiltedSum::crossing(const F& excess, double most, bool upper) const {
  const double half = static_cast<double>(fourier_.size()) / 2, floor = std::max(-half, -(centre_ + shift_));
  const double slow = std::exp(-s_ * step_), fast = std::exp(-(s_ + 1) * step_), rise = -std::expm1(-step_);
  constexpr double kBlock = 128;
  const auto descend = [&](Place at, double target) {
    for (; at.offset > target; --at.offset) {
      const double p = mass(at.offset);
      at.tail.weighed = slow * (at.tail.weighed + rise * (at.tail.decayed + p));
      at.tail.decayed = fast * (at.tail.decayed + p);
    }
    return at;
  };
  Place place = descend({half - 1, {}}, std::max(floor, std::floor(most / step_) - centre_ - shift_));
  if (excess(loss(place.offset), place.tail.weighed) > 0) return kInfinity;
  while (place.offset > floor) {
    const Place block = descend(place, std::max(floor, place.offset - kBlock));
    if (excess(loss(block.offset), block.tail.weighed) <= 0) {
      place = block;
      continue;
    }
    for (Place next = place;; place = next) {
      next = descend(place, place.offset - 1);
      if (!(excess(loss(next.offset), next.tail.weighed) > 0)) continue;
      // Between the two points the weighed sum is exp(s*u) * (weighed - expm1(u) * decayed).
      double low = 0, high = step_;
      for (int i = 0; i < 60; ++i) {
        const double u = (low + high) / 2;
        const double weighed = std::exp(s_ * u) * std::max(0., next.tail.weighed - std::expm1(u) * next.tail.decayed);
        (excess(loss(next.offset) + u, weighed) > 0 ? low : high) = u;
      }
      return loss(next.offset) + (upper ? high : low);
    }
  }
  return -kInfinity;
}

// What outcomes with a loss above its grid add to delta. All of them if their total is above epsilon: P - exp(epsilon)*Q of the outcomes;
// that is a lower bound in any case. Those whose total is below would count less than nothing: Chernoff bounds by how much.
Interval TiltedSum::beyond(double epsilon) const {
  const double p = -std::expm1(log_p_within_), q = -std::expm1(log_q_within_), scale = std::exp(std::min(700., epsilon));
  double below = scale * q;
  for (std::size_t r = 0; r < far_below_.size(); ++r) {
    const TailBounds::Rate& at = tails_.rates()[r];
    const double rate = at.value - s_ - 1;  // E_Q[exp(-rate * loss)] is that of the tilted sum at this rate
    if (rate < 0 || !(far_below_[r] > 0)) continue;
    const double log_moment = log_total_ + at.log_left - at.value * shift_ * step_;
    below = std::min(below, std::exp(std::min(700., epsilon * (1 + rate) + std::log(far_below_[r]) + log_moment + log_error_ + q)));
  }
  constexpr double kDoubt = 1e-10;
  below += scale * far_q_;
  return {std::max(0., p * (1 - kDoubt) - scale * q * (1 + kDoubt)),
          (1 + kDoubt) * std::min(p, std::max(0., p - scale * q * (1 - kDoubt)) + below)};
}

TiltedSum::Answer TiltedSum::epsilon(double delta, double most) const {
  const double slack = 4 * kUnit * static_cast<double>(fourier_.size());
  const double log_delta = std::log(delta), doubt = log_error_ + kUnit * (std::abs(log_total_) + std::abs(log_delta) + 20);
  double found = 0;
  bool sharper = around_.has_value();
  const auto upper_end = [&] {
    return crossing(
        [&](double l, double weighed) {
          found = weighed;
          const double rest = delta - beyond(l).upper;
          if (!(rest > 0)) return kInfinity;
          return log_total_ + doubt - s_ * l + std::log((1 + slack) * weighed + error_at(l, sharper)) - std::log(rest);
        },
        most, true);
  };
  double upper = upper_end();
  if (!sharper && !simple_will_do(std::isfinite(upper) ? upper : 0, found)) sharper = true, upper = upper_end();
  const double at = std::isfinite(upper) ? upper : most;
  const double error_share = error_at(at, sharper) / found,
               size = upper == kInfinity ? 4 * static_cast<double>(fourier_.size()) : size_for(found, at);
  if (upper == -kInfinity) upper = std::max(0., loss(-static_cast<double>(fourier_.size()) / 2));
  upper += loss_error_ + 4 * kUnit * upper;

  // What was moved to the grid does not count, one way or the other.
  const bool by_mass = moved_ < 1e-5 * delta;
  const double lost = std::exp(log_largest_weight(s_)) * (std::expm1(std::min(700., doubt)) + (by_mass ? 0 : moved_tilted_));
  found = 0;
  double lower = crossing(
      [&](double l, double weighed) {
        const double rest = delta + (by_mass ? moved_ : 0) - beyond(l).lower;
        if (!(rest > 0)) return kInfinity;
        const double kept = (1 - slack - spread_share(s_ * l)) * weighed - (error_at(l, sharper) + lost);
        if (!(kept > 0)) return -kInfinity;
        found = weighed;
        return log_total_ - doubt - s_ * l + std::log(kept) - std::log(rest);
      },
      most, false);
  lower = std::isfinite(lower) && found > 0 ? lower * (1 - 4 * kUnit) - give_back(found, spread_share(s_ * lower)) - loss_error_ : 0;
  return {{std::max(0., lower), std::max(0., upper)}, size, error_share};
}

TiltedSum::Place TiltedSum::last_above(double epsilon) const {
  const double half = static_cast<double>(fourier_.size()) / 2, wanted = std::floor(epsilon / step_) - centre_ - shift_;
  Place place{half - 1, {}};
  for (; place.offset > std::max(wanted, -half); --place.offset) place.tail = next_below(place.tail, mass(place.offset));
  return place;
}

TiltedSum::Answer TiltedSum::delta(double epsilon) const {
  const double slack = 4 * kUnit * static_cast<double>(fourier_.size());
  const double doubt = log_error_ + kUnit * (std::abs(log_total_) + std::abs(s_ * epsilon) + 20);
  const auto weighed_at = [&](double e) {
    const Place place = last_above(e);
    const double u = e - loss(place.offset);  // below 0 left of the window
    if (place.tail.weighed <= 0) return 0.;
    return std::exp(s_ * u) * std::max(0., place.tail.weighed - std::expm1(u) * place.tail.decayed);
  };
  constexpr double kShare = 1e-3;
  const double lowered = std::max(0., epsilon - loss_error_);
  const double most = weighed_at(lowered);
  const bool sharper = !simple_will_do(lowered, most);
  const double upper =
      beyond(lowered).upper + std::exp(log_total_ + doubt - s_ * lowered + std::log((1 + slack) * most + error_at(lowered, sharper)));

  const double raised = epsilon + loss_error_ + give_back(weighed_at(epsilon) * .5, kShare);
  const double weighed = weighed_at(raised);
  // give_back() grows as the sum falls: its share is of the sum it was asked for.
  const double least = beyond(epsilon + loss_error_).lower, most_lost = std::exp(log_largest_weight(s_));
  const double lost = error_at(raised, sharper) + most_lost * std::expm1(std::min(700., doubt));
  const double kept = (1 - slack) * weighed - kShare * .5 * weighed_at(epsilon) - lost;
  const double scale = std::exp(log_total_ - doubt - s_ * raised), moved = std::min(moved_, scale * most_lost * moved_tilted_);
  const double lower = least + (kept > 0 ? std::max(0., scale * kept - moved) : 0);
  return {{std::min(1., lower), std::isnan(upper) ? 1. : std::min(1., upper)}, size_for(most, lowered), error_at(lowered, sharper) / most};
}

}  // namespace fodp
