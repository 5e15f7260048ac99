#include "fodp/accounting/tail_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fodp {

TailBounds::TailBounds(double deviation, double step, double furthest) : step_(step) {
  constexpr std::size_t kFewest = 9;
  for (double rate = 8 * std::sqrt(50.) / std::max(deviation, step); rates_.size() < kFewest || rate * furthest > 4; rate /= 2)
    rates_.push_back({rate});
}

// From the middle outwards, so that each product is rounded as little as the masses it meets matter.
void TailBounds::add(const std::vector<double>& masses, std::size_t middle, bool upward, double count) {
  constexpr double kDoubt = 1e-10;
  for (Rate& rate : rates_) {
    const double factor = std::exp(rate.value * step_), inverse = 1 / factor;
    double rising = 0, falling = 0, power = 1, root = 1;  // along the grid
    for (std::size_t i = middle; i < masses.size(); ++i, power *= factor, root *= inverse)
      rising += masses[i] * power, falling += masses[i] * root;
    power = factor, root = inverse;
    for (std::size_t i = middle; i-- > 0; power *= factor, root *= inverse) rising += masses[i] * root, falling += masses[i] * power;
    rate.log_right += count * (std::log(upward ? rising : falling) + kDoubt);
    rate.log_left += count * (std::log(upward ? falling : rising) + kDoubt);
  }
}

double TailBounds::right_of(double offset) const {
  double least = 1;
  for (const Rate& rate : rates_) least = std::min(least, std::exp(std::min(1., rate.log_right - rate.value * step_ * offset)));
  return least;
}

double TailBounds::left_of(double offset) const {
  double least = 1;
  for (const Rate& rate : rates_) least = std::min(least, std::exp(std::min(1., rate.log_left + rate.value * step_ * offset)));
  return least;
}

double TailBounds::right_reach(double unlikely) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Rate& rate : rates_) least = std::min(least, (unlikely + rate.log_right) / (rate.value * step_));
  return least;
}

double TailBounds::left_reach(double unlikely) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Rate& rate : rates_) least = std::min(least, (unlikely + rate.log_left) / (rate.value * step_));
  return least;
}

}  // namespace fodp
