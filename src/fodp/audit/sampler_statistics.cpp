#include "fodp/audit/sampler_statistics.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <boost/math/distributions/chi_squared.hpp>

namespace fodp {
namespace {

std::int64_t common(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  std::int64_t count = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j])
      ++count, ++i, ++j;
    else if (a[i] < b[j])
      ++i;
    else
      ++j;
  }
  return count;
}

// How likely a sum of independent terms that are at least 0, with this mean and variance, is as far from its mean or farther: by the scaled
// chi-squared distribution with the same mean and variance.
double chance_of_sum(double sum, double mean, double variance) {
  if (!(variance > 0)) return 1;
  const double unit = variance / (2 * mean);
  const boost::math::chi_squared like(mean / unit);
  return 2 * std::min(cdf(like, sum / unit), cdf(complement(like, sum / unit)));
}

// Bennett's bound on the chance that a sum of independent terms of mean 0, at most 1 each, with this variance is `far` or more.
double bennett(double far, double variance) {
  const double ratio = far / variance;
  return std::exp(-variance * ((1 + ratio) * std::log1p(ratio) - ratio));
}

}  // namespace

double SamplerStatistics::Centred::standard() const { return variance > 0 ? sum / std::sqrt(variance) : 0; }

// Bennett's inequality for terms of at most 1, which holds for few and rare ones, too, where a normal distribution does not. Terms that
// depend on their neighbours fall into two halves of independent ones, one of which must be half as far from 0.
double SamplerStatistics::Centred::chance(double halves) const {
  return variance > 0 ? std::min(1.0, 2 * halves * bennett(std::abs(sum) / halves, variance / halves)) : 1;
}

// The squared standardised binomial number has mean 1 and variance 2 + (1 - 6pq)/(npq).
void SamplerStatistics::Squares::add(double number, double trials, double rate) {
  const double spread = trials * rate * (1 - rate);
  if (!(spread > 0)) return;
  sum += (number - trials * rate) * (number - trials * rate) / spread;
  count += 1;
  variance += 2 + (1 - 6 * rate * (1 - rate)) / spread;
}

// Few numbers may all be what is expected of them: that there is too little variation is seen in many only.
double SamplerStatistics::Squares::chance() const {
  constexpr double kMany = 30;
  return count >= kMany || sum > count ? chance_of_sum(sum, count, variance) : 1;
}

SamplerStatistics::SamplerStatistics(std::int64_t records) : records_(records), times_(records, 0) {}

void SamplerStatistics::find_places(const LotTaken& lot) {
  if (!members_.empty() && last_.cycle == lot.cycle && last_.groups == lot.groups) return;
  places_.clear();
  members_.assign(static_cast<std::size_t>(lot.cycle), 0);
  for (std::int64_t i = 0; i < records_; ++i) places_.push_back(members_[lot.group_of(i)]++);
}

void SamplerStatistics::add(const LotTaken& lot, std::span<const std::int64_t> rows) {
  find_places(lot);
  const double q = lot.sample_rate, members = static_cast<double>(members_[lot.group]), drawn = static_cast<double>(rows.size());
  if (expected_.size() < static_cast<std::size_t>(lot.cycle)) expected_.resize(lot.cycle, 0), variance_.resize(lot.cycle, 0);
  ++lots_;
  for (const std::int64_t row : rows) {
    strangers_ += lot.group_of(row) != lot.group;
    ++times_[row];
  }
  expected_[lot.group] += q;
  variance_[lot.group] += q * (1 - q);
  rate_.sum += drawn - members * q;
  rate_.variance += members * q * (1 - q);
  sizes_.add(drawn, members, q);
  // Sum over neighbours of (x_i - q)(x_j - q), with x = 1 for records in the lot.
  std::int64_t side_by_side = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) side_by_side += places_[rows[i]] == places_[rows[i - 1]] + 1;
  const bool has_first = !rows.empty() && places_[rows.front()] == 0;
  const bool has_last = !rows.empty() && places_[rows.back()] == members_[lot.group] - 1;
  neighbours_.sum += static_cast<double>(side_by_side) - q * (2 * drawn - has_first - has_last) + (members - 1) * q * q;
  neighbours_.variance += std::max(0.0, members - 1) * q * q * (1 - q) * (1 - q);
  // The same over one record in this lot and in the one before, if it could be in both.
  if (lots_ > 1 && last_.cycle == 1 && lot.cycle == 1) {
    const double p = last_.sample_rate;
    lots_in_row_.sum +=
        static_cast<double>(common(rows, last_rows_)) - q * static_cast<double>(last_rows_.size()) - p * drawn + members * p * q;
    lots_in_row_.variance += members * p * (1 - p) * q * (1 - q);
  }
  last_rows_.assign(rows.begin(), rows.end());
  last_ = lot;
}

// How often each record came.
SamplerStatistics::Squares SamplerStatistics::records_squares() const {
  Squares squares;
  for (std::int64_t i = 0; lots_ > 0 && i < records_; ++i) {
    const double expected = expected_[last_.group_of(i)], variance = variance_[last_.group_of(i)];
    if (!(variance > 0)) continue;
    const double rate = 1 - variance / expected;  // of a binomial number with that mean and variance
    squares.add(times_[i], expected / rate, rate);
  }
  return squares;
}

double SamplerStatistics::most_often() const {
  double least = 1;
  for (std::int64_t i = 0; lots_ > 0 && i < records_; ++i) {
    const double far = times_[i] - expected_[last_.group_of(i)], variance = variance_[last_.group_of(i)];
    if (far > 0 && variance > 0) least = std::min(least, bennett(far, variance));
  }
  return std::min(1.0, static_cast<double>(records_) * least);
}

std::vector<AuditCheck> SamplerStatistics::checks() const {
  const double rate = rate_.standard(), neighbours = neighbours_.standard(), in_row = lots_in_row_.standard();
  const double sizes = sizes_.chance();
  const Squares squares = records_squares();
  const double equal = squares.chance();
  return {
      {"sampler.rate", strangers_ == 0 && std::min({rate_.chance(), equal, most_often()}) >= kFalseAlarm,
       fmt::format("the number of records in {} lots is {:+.2f} standard errors from what was announced; the squared deviations of single "
                   "records are {:.4f} times what they should be (p = {:.2g}), the record that came most often has p = {:.2g}; {} "
                   "came out of turn",
                   lots_, rate, squares.count > 0 ? squares.sum / squares.count : 1, equal, most_often(), strangers_)},
      {"sampler.independence", std::min(neighbours_.chance(2), lots_in_row_.chance(2)) >= kFalseAlarm,
       fmt::format("how often neighbouring records come together, and one record in two lots in a row, is {:+.2f} and {:+.2f} standard "
                   "errors from what independent records have",
                   neighbours, in_row)},
      {"sampler.lot_size", sizes >= kFalseAlarm,
       fmt::format("the variance of the lots' sizes is {:.3f} times that of Poisson sampling (p = {:.2g})",
                   sizes_.count > 0 ? sizes_.sum / sizes_.count : 1, sizes)}};
}

}  // namespace fodp
