// The past releases of a run and what the kernel needs to know of them: a ring of K-1 vectors, the trend, and the inner products that give
// every norm in the scores without another pass over memory.
//
//   |S_i - m|^2 = <S_i,S_i> - 2<S_i,m> + <m,m>,   m_{t+1} = gamma*S_t + (1-gamma)*m_t   (paper eq. 4), so all products with m_{t+1} follow
//   by linearity from those with S_t and m_t.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fodp/base/state.h"
#include "fodp/mechanism/kernel.h"

namespace fodp {

class Memory {
 public:
  // Of vectors of this size. With `gamma`, the trend's weight of the newest release, trend and products are kept; without, neither.
  Memory(std::int64_t window, std::int64_t size, std::optional<double> gamma);

  std::int64_t size() const { return size_; }
  std::int64_t lags() const { return lags_; }           // K_t - 1
  std::span<const float> at_lag(std::int64_t j) const;  // S_{t-j}, j = 1..lags()

  // Adds weights[j-1]*S_{t-j} of the coordinates from `begin` on to `total`, for every lag j that has a weight.
  void add_blend(std::span<const double> weights, std::int64_t begin, std::span<double> total) const;

  // From the products alone.
  double trend_norm() const { return std::sqrt(trend_squared_); }
  double distance_to_trend(std::int64_t j) const;                  // |S_{t-j} - m|
  double blend_norm(std::span<const double> weights) const;        // |sum_j weights[j-1]*S_{t-j}|
  double blend_with_trend(std::span<const double> weights) const;  // <sum_j weights[j-1]*S_{t-j}, m>

  // What one pass over a range of coordinates adds up, in double: the new release's products with the lags it stays beside, with itself and
  // with the trend.
  struct Products {
    std::vector<double> with_lag;  // [j-1]
    double with_itself = 0, with_trend = 0;

    void add(const Products& other);
  };

  // Takes a range of the new release into the ring and the trend. Ranges may be given by several threads at once, each once; then `finish`
  // with the sum of their products, added in a fixed order.
  Products insert(std::int64_t begin, std::span<const float> values);
  void finish(const Products& products);

  void state(StateVisitor& visit);

 private:
  float* slot(std::int64_t index) { return ring_.data() + index * size_; }
  const float* slot(std::int64_t index) const { return ring_.data() + index * size_; }
  std::int64_t slot_of_lag(std::int64_t j) const { return (next_ - j + capacity_) % capacity_; }
  double& gram(std::int64_t a, std::int64_t b) { return gram_[a * capacity_ + b]; }
  double gram(std::int64_t a, std::int64_t b) const { return gram_[a * capacity_ + b]; }

  std::optional<double> gamma_;
  std::int64_t size_, capacity_;  // of a vector; of the ring: K-1
  std::int64_t lags_ = 0, next_ = 0;
  bool started_ = false;
  std::vector<float> ring_, trend_;
  std::vector<double> gram_, with_trend_;  // <S_a,S_b>, <S_a,m> by slot
  double trend_squared_ = 0;
};

// How many releases an average with these weights, which need not be normalised, effectively is of: (sum w)^2 / sum w^2. 0 for none.
double effective_depth(std::span<const double> weights);

// The normalised weights of the lags: eq. 4 to 8. The memory must keep products where the parameters use the trend.
std::vector<double> memory_weights(const FractionalParameters& parameters, const Memory& memory);

}  // namespace fodp
