#include "fodp/mechanism/memory.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/wide.h"

namespace fodp {
namespace {

FODP_WIDE double inner_product(const float* a, const float* b, std::size_t count) {
  constexpr std::size_t kLanes = 8;  // independent chains, in a fixed order: the same sum on every machine
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
  for (; i < count; ++i) sums[0] += static_cast<double>(a[i]) * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

FODP_WIDE void add_scaled(double weight, const float* values, double* total, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) total[i] += weight * values[i];
}

FODP_WIDE void move_towards(const float* values, double share, float* trend, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) trend[i] = static_cast<float>(share * values[i] + (1 - share) * trend[i]);
}

}  // namespace

Memory::Memory(std::int64_t window, std::int64_t size, std::optional<double> gamma) : gamma_(gamma), size_(size), capacity_(window - 1) {
  ring_.resize(capacity_ * size_);
  if (!gamma_) return;
  trend_.resize(size_);
  gram_.resize(capacity_ * capacity_);
  with_trend_.resize(capacity_);
}

std::span<const float> Memory::at_lag(std::int64_t j) const { return {slot(slot_of_lag(j)), static_cast<std::size_t>(size_)}; }

double Memory::distance_to_trend(std::int64_t j) const {
  const std::int64_t s = slot_of_lag(j);
  return std::sqrt(std::max(0.0, gram(s, s) - 2 * with_trend_[s] + trend_squared_));  // may cancel to just below 0
}

double Memory::blend_norm(std::span<const double> weights) const {
  double squared = 0;
  for (std::size_t i = 1; i <= weights.size(); ++i)
    for (std::size_t j = 1; j <= weights.size(); ++j) squared += weights[i - 1] * weights[j - 1] * gram(slot_of_lag(i), slot_of_lag(j));
  return std::sqrt(std::max(0.0, squared));
}

double Memory::blend_with_trend(std::span<const double> weights) const {
  double product = 0;
  for (std::size_t j = 1; j <= weights.size(); ++j) product += weights[j - 1] * with_trend_[slot_of_lag(j)];
  return product;
}

void Memory::add_blend(std::span<const double> weights, std::int64_t begin, std::span<double> total) const {
  constexpr std::size_t kPiece = 1024;  // stays in the nearest cache while all lags are added to it
  for (std::size_t start = 0; start < total.size(); start += kPiece)
    for (std::size_t j = 1; j <= weights.size(); ++j)
      add_scaled(weights[j - 1], at_lag(static_cast<std::int64_t>(j)).data() + begin + start, total.data() + start,
                 std::min(kPiece, total.size() - start));
}

double effective_depth(std::span<const double> weights) {
  double sum = 0, squares = 0;
  for (const double weight : weights) {
    sum += weight;
    squares += weight * weight;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

std::vector<double> memory_weights(const FractionalParameters& parameters, const Memory& memory) {
  std::vector<double> scores(memory.lags(), 0.0);
  double trust = 0;
  if (parameters.uses_trend() && memory.lags() > 0) {
    trust = confidence(parameters, memory.trend_norm());
    for (std::int64_t j = 1; j <= memory.lags(); ++j)
      scores[j - 1] = inconsistency(parameters, memory.distance_to_trend(j), memory.trend_norm());
  }
  return kernel_weights(parameters, trust, scores);
}

void Memory::Products::add(const Products& other) {
  with_lag.resize(std::max(with_lag.size(), other.with_lag.size()));
  for (std::size_t j = 0; j < other.with_lag.size(); ++j) with_lag[j] += other.with_lag[j];
  with_itself += other.with_itself;
  with_trend += other.with_trend;
}

Memory::Products Memory::insert(std::int64_t begin, std::span<const float> values) {
  Products products;
  if (capacity_ == 0) return products;
  if (gamma_) {
    const std::int64_t staying = std::min(lags_, capacity_ - 1);  // the oldest leaves a full ring
    for (std::int64_t j = 1; j <= staying; ++j)
      products.with_lag.push_back(inner_product(values.data(), slot(slot_of_lag(j)) + begin, values.size()));
    products.with_itself = inner_product(values.data(), values.data(), values.size());
    float* trend = trend_.data() + begin;
    if (started_) {
      products.with_trend = inner_product(values.data(), trend, values.size());
      move_towards(values.data(), *gamma_, trend, values.size());
    } else {
      std::copy(values.begin(), values.end(), trend);
    }
  }
  std::copy(values.begin(), values.end(), slot(next_) + begin);
  return products;
}

void Memory::finish(const Products& products) {
  if (capacity_ == 0) return;
  const std::int64_t newest = next_;
  if (gamma_) {
    const double gamma = started_ ? *gamma_ : 1;  // the first release is the first trend
    for (std::size_t j = 1; j <= products.with_lag.size(); ++j) {
      const std::int64_t s = slot_of_lag(j);
      gram(newest, s) = gram(s, newest) = products.with_lag[j - 1];
      with_trend_[s] = gamma * products.with_lag[j - 1] + (1 - gamma) * with_trend_[s];
    }
    gram(newest, newest) = products.with_itself;
    with_trend_[newest] = gamma * products.with_itself + (1 - gamma) * products.with_trend;
    trend_squared_ = std::max(0.0, gamma * gamma * products.with_itself + 2 * gamma * (1 - gamma) * products.with_trend +
                                       (1 - gamma) * (1 - gamma) * trend_squared_);
  }
  started_ = true;
  next_ = (next_ + 1) % capacity_;
  lags_ = std::min(lags_ + 1, capacity_);
}

void Memory::state(StateVisitor& visit) {
  visit("ring", std::span(ring_));
  visit("trend", std::span(trend_));
  visit("gram", gram_);
  visit("with_trend", with_trend_);
  visit("trend_squared", trend_squared_);
  visit("lags", lags_);
  visit("next", next_);
  visit("started", started_);
}

}  // namespace fodp
