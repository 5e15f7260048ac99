// How much noise is in each coordinate of a release with memory, and of a blend of past ones: by linearity, from the weights alone.
//
//   S_t = beta*y_t + sum_j w_j S_{t-j}:  cov(S_t, S_i) = sum_j w_j cov(S_{t-j}, S_i),  var(S_t) = beta^2 var(y_t) + w' cov w
//
// The weights are taken as given, although they depend (weakly) on the same noise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fodp/base/state.h"

namespace fodp {

class NoiseCovariance {
 public:
  explicit NoiseCovariance(std::int64_t window) : capacity_(static_cast<std::size_t>(window - 1)) {}

  double newest() const { return newest_; }  // variance of the last release

  // Variance of sum_j weights[j-1]*S_{t-j}.
  double of_blend(std::span<const double> weights) const;

  // Takes in S_t = beta*y + sum_j weights[j-1]*S_{t-j}.
  void add(double beta, double fresh_variance, std::span<const double> weights);

  void state(StateVisitor& visit);

 private:
  double covariance(std::size_t i, std::size_t j) const { return i <= j ? rows_[i][j - i] : rows_[j][i - j]; }

  std::size_t capacity_;
  double newest_ = 0;
  std::vector<std::vector<double>> rows_;  // rows_[i][k]: of the releases at lags i+1 and i+1+k
};

}  // namespace fodp
