#include "fodp/accounting/group_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fodp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 1 - exp(-j*x) for j = 1, 2, ..., by adding what each has more than the one before.
class Falls {
 public:
  explicit Falls(double x) : one_(-std::expm1(-x)), factor_(std::exp(-x)) {}
  double next() {
    sum_ += one_ * power_;
    power_ *= factor_;
    return sum_;
  }
  double power() const { return power_; }  // exp(-j*x)

 private:
  double one_, factor_, power_ = 1, sum_ = 0;
};

}  // namespace

GroupLoss::GroupLoss(const SampledGaussian& event) : records_(event.records), slope_(1 / event.noise_multiplier) {
  double log_ways = 0;
  for (std::int64_t j = 0; j <= records_; ++j) {
    log_chance_[j] = log_ways + static_cast<double>(j) * std::log(event.sample_rate) +
                     static_cast<double>(records_ - j) * std::log1p(-event.sample_rate);
    log_ways += std::log(static_cast<double>(records_ - j) / static_cast<double>(j + 1));
  }
}

double GroupLoss::log_term(std::size_t j, double t) const {
  const double shift = static_cast<double>(j) * slope_;
  return log_chance_[j] + shift * (t - shift / 2);
}

double GroupLoss::at(double t) const {
  // Where the ratio is near 1: the chances add up to 1, so a small loss keeps its digits.
  double excess = 0, largest = log_chance_[0];
  for (std::int64_t j = 1; j <= records_; ++j) {
    largest = std::max(largest, log_term(j, t));
    excess += std::exp(log_chance_[j]) * std::expm1(log_term(j, t) - log_chance_[j]);
  }
  if (std::abs(excess) < .5) return std::log1p(excess);
  double sum = 0;
  for (std::int64_t j = 0; j <= records_; ++j) sum += std::exp(log_term(j, t) - largest);
  return largest + std::log(sum);
}

// Newton's method on the logarithm of the terms with j >= 1, a convex function whose slope is between 1/z and k/z. It begins where one
// term by itself reaches what is sought, so that it comes down from above.
double GroupLoss::where(double loss) const {
  if (!(loss > log_chance_[0])) return -kInfinity;
  const double sought = loss + std::log(-std::expm1(log_chance_[0] - loss));
  double t = kInfinity;
  for (std::int64_t j = 1; j <= records_; ++j) {
    const double shift = static_cast<double>(j) * slope_;
    t = std::min(t, (sought - log_chance_[j]) / shift + shift / 2);
  }
  for (int i = 0; i < 60; ++i) {
    double largest = -kInfinity, sum = 0, rise = 0;
    for (std::int64_t j = 1; j <= records_; ++j) largest = std::max(largest, log_term(j, t));
    for (std::int64_t j = 1; j <= records_; ++j) {
      const double term = std::exp(log_term(j, t) - largest);
      sum += term;
      rise += term * static_cast<double>(j) * slope_;
    }
    const double next = t - (largest + std::log(sum) - sought) * sum / rise;
    if (!(next < t)) break;
    t = next;
  }
  return t;
}

double GroupLoss::mass_above(double t) const {
  double mass = 0;
  for (std::int64_t j = 0; j <= records_; ++j)
    mass += std::exp(log_chance_[j]) * .5 * std::erfc((t - static_cast<double>(j) * slope_) / std::numbers::sqrt2);
  return mass;
}

double GroupLoss::rounding(double furthest) const {
  double largest = 0;
  for (std::int64_t j = 0; j <= records_; ++j) largest = std::max(largest, std::abs(log_chance_[j]));
  return 16 * (4 + largest + steepest() * (furthest + steepest()));
}

GroupLoss::Cell::Cell(const GroupLoss& loss, double begin, double end, double low_loss)
    : records_(loss.records_), slope_(loss.slope_), begin_(begin), end_(end) {
  const bool open = std::isinf(begin);
  const double least = loss.log_chance_[0],
               log_rest = open && low_loss < least ? least + std::log(-std::expm1(low_loss - least)) : -kInfinity;
  double largest = log_rest;
  for (std::int64_t j = 1; j <= records_; ++j) largest = std::max(largest, loss.log_term(j, end));
  rest_ = whole_ = std::exp(log_rest - largest);
  Falls fall(open ? kInfinity : (end - begin) * slope_);
  for (std::int64_t j = 1; j <= records_; ++j) {
    weight_[j] = std::exp(loss.log_term(j, end) - largest);
    whole_ += weight_[j] * fall.next();
  }
}

GroupLoss::Cell::Shares GroupLoss::Cell::at(double t) const {
  double low = 0, high = rest_;
  Falls to_end((end_ - t) * slope_), from_begin((t - begin_) * slope_);
  for (std::int64_t j = 1; j <= records_; ++j) {
    low += weight_[j] * to_end.next();
    high += weight_[j] * to_end.power() * from_begin.next();
  }
  return {low / whole_, high / whole_};
}

}  // namespace fodp
