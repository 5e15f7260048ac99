#include "fodp/mechanism/memory.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/wide.h"

namespace fodp {
namespace {

// The inner products of `values` with four vectors, in eight lanes each. One after the other they would wait for their own additions.
FODP_WIDE void four_products(const float* values, const float* const* vectors, std::size_t count, double* products) {
  const float *v0 = vectors[0], *v1 = vectors[1], *v2 = vectors[2], *v3 = vectors[3];
  EightDoubles s0 = {}, s1 = {}, s2 = {}, s3 = {};
  EightFloats x, y0, y1, y2, y3;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::memcpy(&x, values + i, sizeof x);
    std::memcpy(&y0, v0 + i, sizeof x);
    std::memcpy(&y1, v1 + i, sizeof x);
    std::memcpy(&y2, v2 + i, sizeof x);
    std::memcpy(&y3, v3 + i, sizeof x);
    const EightDoubles wide = __builtin_convertvector(x, EightDoubles);
    s0 += wide * __builtin_convertvector(y0, EightDoubles);
    s1 += wide * __builtin_convertvector(y1, EightDoubles);
    s2 += wide * __builtin_convertvector(y2, EightDoubles);
    s3 += wide * __builtin_convertvector(y3, EightDoubles);
  }
  const EightDoubles* sums[] = {&s0, &s1, &s2, &s3};
  for (std::size_t k = 0; k < 4; ++k) {
    const EightDoubles& s = *sums[k];
    products[k] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    for (std::size_t rest = i; rest < count; ++rest) products[k] += static_cast<double>(values[rest]) * vectors[k][rest];
  }
}

// The inner products of `values` with each of the vectors.
std::vector<double> inner_products(std::span<const float> values, std::vector<const float*> vectors) {
  const std::size_t number = vectors.size();
  vectors.resize((number + 3) / 4 * 4, values.data());  // what is computed for these is not used
  std::vector<double> products(vectors.size());
  for (std::size_t k = 0; k < number; k += 4) four_products(values.data(), vectors.data() + k, values.size(), products.data() + k);
  products.resize(number);
  return products;
}

// total += the sum over j of weights[j]*vectors[j]. A few coordinates of all vectors are added up in registers.
FODP_WIDE void add_weighted(const double* weights, const float* const* vectors, std::size_t number, double* total, std::size_t count) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    EightDoubles low = {}, high = {}, before;
    EightFloats x, y;
    for (std::size_t j = 0; j < number; ++j) {
      std::memcpy(&x, vectors[j] + i, sizeof x);
      std::memcpy(&y, vectors[j] + i + 8, sizeof y);
      low += weights[j] * __builtin_convertvector(x, EightDoubles);
      high += weights[j] * __builtin_convertvector(y, EightDoubles);
    }
    std::memcpy(&before, total + i, sizeof before);
    low = before + low;
    std::memcpy(total + i, &low, sizeof low);
    std::memcpy(&before, total + i + 8, sizeof before);
    high = before + high;
    std::memcpy(total + i + 8, &high, sizeof high);
  }
  for (; i < count; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < number; ++j) sum += weights[j] * vectors[j][i];
    total[i] += sum;
  }
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
  std::vector<const float*> lags;
  for (std::size_t j = 1; j <= weights.size(); ++j) lags.push_back(at_lag(static_cast<std::int64_t>(j)).data() + begin);
  add_weighted(weights.data(), lags.data(), lags.size(), total.data(), total.size());
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
    float* trend = trend_.data() + begin;
    std::vector<const float*> vectors;
    for (std::int64_t j = 1; j <= staying; ++j) vectors.push_back(slot(slot_of_lag(j)) + begin);
    vectors.push_back(values.data());
    if (started_) vectors.push_back(trend);
    products.with_lag = inner_products(values, std::move(vectors));
    if (started_) {
      products.with_trend = products.with_lag.back();
      products.with_lag.pop_back();
      move_towards(values.data(), *gamma_, trend, values.size());
    } else {
      std::copy(values.begin(), values.end(), trend);
    }
    products.with_itself = products.with_lag.back();
    products.with_lag.pop_back();
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
