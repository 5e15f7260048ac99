// Algorithm 1 of the paper as it stands: every vector formed, every norm taken, in double. Slow; shares nothing with the mechanism.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "fodp/mechanism/kernel.h"
#include "mechanism/bench.h"

namespace fodp::testing {

class DenseFractional {
 public:
  explicit DenseFractional(const FractionalParameters& parameters) : p_(parameters) {}

  // S_t from s_t and the noise sigma*C*Z_t.
  Vector release(const Vector& sum, const Vector& noise) {
    Vector query(sum.size());
    const Vector weights = lag_weights();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      double memory = 0;
      for (std::size_t j = 0; j < weights.size(); ++j) memory += weights[j] * past_[j][i];
      query[i] = p_.beta * sum[i] + (1 - p_.beta) * memory;
    }
    Vector released = query;
    for (std::size_t i = 0; i < sum.size(); ++i) released[i] += noise[i];
    if (past_.empty() && trend_.empty()) {
      trend_ = released;
    } else {
      for (std::size_t i = 0; i < sum.size(); ++i) trend_[i] = p_.gamma * released[i] + (1 - p_.gamma) * trend_[i];
    }
    past_.push_front(released);
    if (static_cast<std::int64_t>(past_.size()) > p_.window - 1) past_.pop_back();
    return released;
  }

  Vector lag_weights() const {
    Vector raw;
    for (std::size_t index = 0; index < past_.size(); ++index) {
      const double lag = index + 1, j = p_.lag_origin == 1 ? lag : lag - 1;
      const double trend_norm = norm(trend_);
      const double nu = norm(difference(past_[index], trend_)) / (std::max(trend_norm, p_.kappa) + p_.stability);
      const double chi = trend_norm / (trend_norm + p_.zeta);
      switch (p_.kernel) {
        case Kernel::current:
          raw.push_back(0);
          break;
        case Kernel::uniform:
          raw.push_back(1);
          break;
        case Kernel::exponential:
          raw.push_back(std::pow(p_.kernel_decay, lag - 1));
          break;
        case Kernel::tempered:
          raw.push_back(std::pow(j + 1, p_.alpha - 1) * std::exp(-p_.lambda * j));
          break;
        case Kernel::confidence:
          raw.push_back(std::pow(j + 1, p_.alpha - 1) * std::exp(-(p_.lambda + chi * p_.tau * nu) * j));
          break;
        case Kernel::grunwald:
          raw.push_back(std::tgamma(j + p_.alpha) / (std::tgamma(p_.alpha) * std::tgamma(j + 1)) *
                        std::exp(-(p_.lambda + chi * p_.tau * nu) * j));
          break;
      }
    }
    double total = 0;
    for (double weight : raw) total += weight;
    if (total > 0)
      for (double& weight : raw) weight /= total;
    return raw;
  }

 private:
  static double norm(const Vector& v) {
    double squared = 0;
    for (double x : v) squared += x * x;
    return std::sqrt(squared);
  }
  static Vector difference(Vector a, const Vector& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
    return a;
  }

  FractionalParameters p_;
  std::deque<Vector> past_;  // newest first
  Vector trend_;
};

}  // namespace fodp::testing
