#include "fodp/audit/noise_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/core.h>
#include <boost/math/distributions/chi_squared.hpp>

#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

constexpr std::int64_t kFewProducts = 1000;

double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// Four neighbouring values of noise tell a block of noise from every other but with probability 1e-20 or less.
std::uint64_t fingerprint(std::span<const double> values) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (const double value : values.first(std::min<std::size_t>(4, values.size()))) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0xff51afd7ed558ccd;
    hash ^= hash >> 33;
  }
  return hash;
}

// Few squares may all be 0 on a lattice: too small a sum is seen in many only.
double chance_of_squares(double sum, double count) {
  const boost::math::chi_squared like(count);
  const double above = cdf(complement(like, sum));
  return 2 * (count >= 8 ? std::min(above, cdf(like, sum)) : above);
}

}  // namespace

double two_sided_chance(double standard) { return std::erfc(std::abs(standard) / std::sqrt(2.0)); }

double NoiseStatistics::Products::standard() const { return count == 0 ? 0 : sum / std::sqrt(static_cast<double>(count)); }

double NoiseStatistics::Products::chance() const { return count < kFewProducts ? 1 : two_sided_chance(standard()); }

void NoiseStatistics::add_products(std::span<const double> a, std::span<const double> b, Products& products) const {
  const std::size_t count = std::min(a.size(), b.size());
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  products.sum += sum;
  products.count += static_cast<std::int64_t>(count);
}

void NoiseStatistics::add(std::span<const double> noise) {
  if (noise.empty()) return;
  ++releases_;
  count_ += static_cast<std::int64_t>(noise.size());
  for (const double value : noise) {
    sum_ += value;
    squares_ += value * value;
    ++bins_[std::min<std::size_t>(kBins - 1, static_cast<std::size_t>(normal_cdf(value) * kBins))];
  }
  coordinate_squares_.resize(std::max(coordinate_squares_.size(), noise.size()), 0);
  double squares = 0;
  for (std::size_t i = 0; i < noise.size(); ++i) squares += noise[i] * noise[i], coordinate_squares_[i] += noise[i] * noise[i];
  least_release_ = std::min(least_release_, chance_of_squares(squares, static_cast<double>(noise.size())));
  if (releases_ <= 3) {  // where noise begins anew in the middle of a release, such as for each layer
    std::unordered_set<std::uint64_t> windows;
    for (std::size_t begin = 0; begin + 4 <= noise.size(); ++begin)
      repeated_within_ += !windows.insert(fingerprint(noise.subspan(begin))).second;
  }
  add_products(noise, noise.subspan(1), neighbours_);
  if (noise.size() > kNoiseBlock) add_products(noise, noise.subspan(kNoiseBlock), blocks_);
  for (std::size_t begin = 0; begin + 4 <= noise.size(); begin += kNoiseBlock)
    repeated_ += !starts_.insert(fingerprint(noise.subspan(begin))).second;
  for (std::size_t lag = 0; lag < earlier_.size(); ++lag) add_products(noise, earlier_[lag], lags_[lag]);
  earlier_.emplace_front(noise.begin(), noise.end());
  if (earlier_.size() > kLags) earlier_.pop_back();
}

std::array<double, 2> NoiseStatistics::scale_interval(double confidence) const {
  const boost::math::chi_squared squares(static_cast<double>(count_));
  const double side = (1 - confidence) / 2;
  return {std::sqrt(squares_ / quantile(complement(squares, side))), std::sqrt(squares_ / quantile(squares, side))};
}

AuditCheck NoiseStatistics::scale(double confidence) const {
  const auto [low, high] = scale_interval(confidence);
  const auto [surely_low, surely_high] = scale_interval(1 - kFalseAlarm);
  const auto [least, most] = std::ranges::minmax(coordinate_squares_);
  const auto releases = static_cast<double>(releases_);
  const double coordinate = std::min(1.0, static_cast<double>(coordinate_squares_.size()) *
                                              std::min(chance_of_squares(least, releases), chance_of_squares(most, releases)));
  const double release = std::min(1.0, releases * least_release_);
  return {"noise.scale", surely_low <= 1 && 1 <= surely_high && coordinate >= kFalseAlarm && release >= kFalseAlarm,
          fmt::format("the noise is {:.5f} to {:.5f} times the claimed standard deviation ({:.4g}% interval, {} values); the single "
                      "coordinate and the single release that differ most have p = {:.2g} and {:.2g}",
                      low, high, 100 * confidence, count_, coordinate, release)};
}

AuditCheck NoiseStatistics::shape() const {
  const double expected = static_cast<double>(count_) / kBins;
  double distance = 0;
  for (const std::int64_t bin : bins_) distance += (static_cast<double>(bin) - expected) * (static_cast<double>(bin) - expected) / expected;
  if (expected < 20) return {"noise.normality", {}, fmt::format("not checked: {} values are too few", count_)};
  const double chance = cdf(complement(boost::math::chi_squared(kBins - 1), distance));
  const double mean = sum_ / std::sqrt(static_cast<double>(count_));
  return {"noise.normality", chance >= kFalseAlarm && two_sided_chance(mean) >= kFalseAlarm,
          fmt::format("chi-squared {:.1f} over {} bins of a normal distribution (p = {:.2g}); the mean is {:.2f} standard errors from 0",
                      distance, kBins, chance, mean)};
}

AuditCheck NoiseStatistics::coordinates() const {
  const double side_by_side = neighbours_.standard(), apart = blocks_.standard();
  return {"noise.coordinates", std::min(neighbours_.chance(), blocks_.chance()) >= kFalseAlarm,
          fmt::format("neighbouring coordinates are correlated by {:+.2f} standard errors, those one block of noise apart by {:+.2f}",
                      side_by_side, apart)};
}

AuditCheck NoiseStatistics::releases() const {
  double most = 0, chance = 1;
  for (const Products& lag : lags_) {
    if (std::abs(lag.standard()) > std::abs(most)) most = lag.standard();
    chance = std::min(chance, lag.chance());
  }
  return {"noise.steps", repeated_ + repeated_within_ == 0 && chance >= kFalseAlarm,
          fmt::format("{} of {} blocks of noise came twice, and {} pieces of one release; releases up to {} apart are correlated by at "
                      "most {:.2f} standard errors",
                      repeated_, starts_.size() + static_cast<std::size_t>(repeated_), repeated_within_, kLags, most)};
}

std::vector<AuditCheck> NoiseStatistics::checks(double confidence) const {
  if (count_ == 0) return {{"noise.scale", {}, "not checked: nothing with noise was released"}};
  return {scale(confidence), shape(), coordinates(), releases()};
}

}  // namespace fodp
