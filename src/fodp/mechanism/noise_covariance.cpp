#include "fodp/mechanism/noise_covariance.h"

#include <algorithm>

namespace fodp {

double NoiseCovariance::of_blend(std::span<const double> weights) const {
  double variance = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < weights.size(); ++j) variance += weights[i] * weights[j] * covariance(i, j);
  return variance;
}

void NoiseCovariance::add(double beta, double fresh_variance, std::span<const double> weights) {
  newest_ = beta * beta * fresh_variance + of_blend(weights);
  std::vector<double> row = {newest_};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    double with = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) with += weights[j] * covariance(j, i);
    row.push_back(with);
  }
  rows_.insert(rows_.begin(), std::move(row));
  if (rows_.size() > capacity_) rows_.pop_back();
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].resize(std::min(rows_[i].size(), rows_.size() - i));
}

void NoiseCovariance::state(StateVisitor& visit) {
  visit("newest", newest_);
  visit("rows", rows_);
}

}  // namespace fodp
