#include "fodp/accounting/cumulants.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fodp {

Cumulants::Cumulants(const SampledGaussian& event, double tail, double highest) {
  const auto [low, end] = deviations(event, tail);
  const double high = std::min(end, deviation_at(event, highest));
  const double step = std::max(std::min(.12, event.noise_multiplier / static_cast<double>(3 * event.records)), (high - low) / 4000);
  for (double t = low; t < high + step; t += step) {
    log_weight_.push_back(-t * t / 2);
    loss_.push_back(loss_at(event, t));
  }
  double sum = 0;
  for (double log_weight : log_weight_) sum += std::exp(log_weight);
  for (double& log_weight : log_weight_) log_weight -= std::log(sum);
}

Cumulants::Value Cumulants::at(double s, Direction direction) const {
  const bool remove = direction == Direction::remove;
  const double power = remove ? s + 1 : -s;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < loss_.size(); ++i) largest = std::max(largest, log_weight_[i] + power * loss_[i]);
  double mass = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < loss_.size(); ++i) {
    const double weight = std::exp(log_weight_[i] + power * loss_[i] - largest);
    mass += weight;
    first += weight * loss_[i];
    second += weight * loss_[i] * loss_[i];
  }
  const double mean = first / mass, variance = std::max(0., second / mass - mean * mean);
  return {largest + std::log(mass), remove ? mean : -mean, variance};
}

double log_largest_weight(double s) { return s > 0 ? s * std::log(s) - (1 + s) * std::log1p(s) : 0; }

Cumulants::Value RunCumulants::at(double s, Direction direction) const {
  Cumulants::Value total;
  for (const CountedCumulants& part : parts_) {
    const Cumulants::Value value = part.cumulants.at(s, direction);
    total.k += part.count * value.k;
    total.mean += part.count * value.mean;
    total.variance += part.count * value.variance;
  }
  return total;
}

// In log s the bound falls, then rises.
template <class F>
RunCumulants::Tilt RunCumulants::least(const F& f, Direction direction) const {
  constexpr double kStride = .8, kGolden = .3819660112501051;
  const double deviation = std::sqrt(at(0, direction).variance);
  const double lowest = std::log(1e-3 / std::max(deviation, 1e-150)), highest = std::log(1e4 / std::max(deviation, 1e-150));
  double x = std::log(4 / std::max(deviation, 1e-150)), fx = f(std::exp(x)), low = x - kStride, high = x + kStride;
  if (double next = f(std::exp(high)); next < fx) {
    do low = x, x = high, fx = next, high += kStride;
    while (high < highest && (next = f(std::exp(high))) < fx);
  } else {
    while (low > lowest && (next = f(std::exp(low))) < fx) high = x, x = low, fx = next, low -= kStride;
  }
  while (high - low > .02) {
    const bool right = high - x > x - low;
    const double y = right ? x + kGolden * (high - x) : x - kGolden * (x - low), fy = f(std::exp(y));
    if (fy < fx) {
      (right ? low : high) = x;
      x = y, fx = fy;
    } else {
      (right ? high : low) = y;
    }
  }
  return {std::exp(x), fx};
}

RunCumulants::Tilt RunCumulants::for_delta(double delta, Direction direction) const {
  const double log_delta = std::log(delta);
  return least([&](double s) { return (at(s, direction).k + log_largest_weight(s) - log_delta) / s; }, direction);
}

RunCumulants::Tilt RunCumulants::for_epsilon(double epsilon, Direction direction) const {
  return least([&](double s) { return at(s, direction).k + log_largest_weight(s) - s * epsilon; }, direction);
}

RunCumulants::Reach RunCumulants::reach(double s, double unlikely, Direction direction, bool heavy) const {
  const Cumulants::Value here = at(s, direction);
  double rate = 1.5 * std::sqrt(2 * unlikely / here.variance);
  double right = std::numeric_limits<double>::infinity(), left = right;
  // A heavy tail needs rates far below what the deviation suggests: on as long as that helps.
  bool better = true;
  for (int i = 0; i < 14 || (heavy && better && i < 60); ++i, rate *= .7) {
    const double to_right = (at(s + rate, direction).k - here.k + unlikely) / rate - here.mean;
    const double to_left = (at(s - rate, direction).k - here.k + unlikely) / rate + here.mean;
    better = to_right < right || to_left < left;
    right = std::min(right, to_right);
    left = std::min(left, to_left);
  }
  return {left, right};
}

double RunCumulants::depth(double unlikely, Direction direction) const {
  // The second distribution is the first under the tilt -1.
  double rate = 1.5 * std::sqrt(2 * unlikely / at(-1, direction).variance), least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 14; ++i, rate *= .7) least = std::min(least, (at(-1 - rate, direction).k + unlikely) / rate);
  return least;
}

double RunCumulants::narrow(double most, double epsilon, Direction direction) const {
  double best = most, least = std::numeric_limits<double>::infinity();
  for (double s = most; s > most / 20; s *= .85) {
    const Cumulants::Value value = at(s, direction);
    const double price = value.k + log_largest_weight(s) - s * epsilon + 1.5 * std::log(value.variance);
    if (price < least) least = price, best = s;
  }
  return best;
}

}  // namespace fodp
