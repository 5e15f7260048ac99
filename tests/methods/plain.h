// Every method of docs/methods.md in plain double arithmetic for the case in which nothing is random: all noise is 0 and every row is in
// every lot (q = 1, L = N; with a banded release of b > 1 bands q = 1/b, and the rows of one group come in turn). Per-example gradients are
// dense and no code of the library is used, so that the library can be compared with it step by step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "methods/plain/model.h"
#include "methods/plain/release.h"
#include "methods/plain/settings.h"
#include "methods/plain/update.h"

namespace fodp::plain {

struct Trajectory {
  std::vector<Vector> theta;  // after each step
  Vector averaged;            // what is evaluated at the end
};

class Training {
 public:
  Training(const Problem& problem, Vector start, const Settings& settings)
      : problem_(problem),
        settings_(settings),
        stages_(resolve(settings)),
        bands_(stages_.release == Release::banded ? settings.bands : 1),
        lot_size_(static_cast<double>(problem.inputs.size()) / static_cast<double>(bands_)),
        theta_(std::move(start)),
        previous_(theta_),
        clipper_(settings, stages_, problem.net),
        releaser_(settings, stages_.release, problem.net),
        filter_(settings, stages_.filter, lot_size_),
        rule_(settings, stages_.update, theta_.size()),
        average_(settings, stages_.averaging, theta_) {}

  const Vector& step() {
    const Vector before = theta_;
    const Vector released = releaser_.release(query(point()), theta_, t_);
    direction_ = released;
    Vector gradient = released;
    for (double& value : gradient) value /= lot_size_;
    rule_.step(theta_, filter_.apply(gradient, t_), learning_rate());
    if (stages_.step == Step::annealed && !accepted(before)) theta_ = before;
    previous_ = before;
    average_.add(theta_);
    ++t_;
    return theta_;
  }

  Vector averaged() const { return average_.value(); }

 private:
  // Where the query that the update uses is asked.
  Vector point() {
    switch (stages_.step) {
      case Step::previous_direction:
        return ascended(direction_);
      case Step::two_queries:
        return ascended(query(theta_));
      case Step::look_ahead:
        return looked_ahead();
      default:
        return theta_;
    }
  }

  // theta + rho*p/|p|; theta if p is 0 or not there yet.
  Vector ascended(const Vector& p) const {
    Vector at = theta_;
    if (const double length = norm(p); length > 0) mix(1, at, stages_.rho / length, p);
    return at;
  }

  // theta_t + (1-kappa)/kappa*(theta_t - theta_{t-1}); no offset in the first step, where both are the start.
  Vector looked_ahead() const {
    const double gamma = (1 - settings_.disk_kappa) / settings_.disk_kappa;
    Vector at = theta_;
    mix(1 + gamma, at, -gamma, previous_);
    return at;
  }

  Vector query(const Vector& at) {
    const std::vector<Vector> gradients = lot_gradients(at);
    return stages_.step == Step::importance ? importance_sum(gradients) : clipper_.sum(gradients, at.size(), lot_size_);
  }

  std::vector<Vector> lot_gradients(const Vector& at) const {
    std::vector<Vector> gradients;
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      if (bands_ > 1 && settings_.groups[i] != t_ % bands_) continue;
      gradients.push_back(problem_.net.gradient(at, problem_.inputs[i], problem_.labels[i]));
    }
    return gradients;
  }

  // DP-IS at q = 1, an epoch of one step: b = N, so every row is a candidate, and is kept for sure if its norm is at least C.
  Vector importance_sum(const std::vector<Vector>& gradients) const {
    const double rows = static_cast<double>(gradients.size()), bound = settings_.clip_norm;
    double norm_total = 0;
    for (const Vector& gradient : gradients) norm_total += std::min(norm(gradient), bound);
    norm_total = std::max(norm_total, settings_.norm_total_floor.value_or(rows * bound / 2));
    const double weight = std::max(norm_total, lot_size_ * bound) / rows;
    Vector sum(theta_.size());
    for (const Vector& gradient : gradients) {
      const double length = norm(gradient);
      if (length < bound) throw std::domain_error("plain: dp-is is random for a gradient shorter than the clip norm");
      mix(1, sum, weight / length, gradient);
    }
    return sum;
  }

  double learning_rate() {
    if (stages_.step == Step::scaled_lr) {
      const double clipped = 1 - clipper_.unclipped();
      if (clipped < .1) lr_factor_ *= 1.01;
      if (clipped > .3) lr_factor_ *= .995;
      lr_factor_ = std::clamp(lr_factor_, .1, 2.);
    }
    return settings_.lr_at(t_) * lr_factor_;
  }

  bool accepted(const Vector& before) const {
    const double bound = settings_.loss_clip;
    double change = 0;
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      change += problem_.net.loss(theta_, problem_.inputs[i], problem_.labels[i]);
      change -= problem_.net.loss(before, problem_.inputs[i], problem_.labels[i]);
    }
    return std::clamp(change / lot_size_, -bound, bound) < settings_.acceptance * bound;
  }

  const Problem& problem_;
  Settings settings_;
  Stages stages_;
  std::int64_t bands_;
  double lot_size_;
  Vector theta_, previous_, direction_;  // theta_t, theta_{t-1}, the last release
  Clipper clipper_;
  Releaser releaser_;
  GradientFilter filter_;
  UpdateRule rule_;
  WeightAverage average_;
  double lr_factor_ = 1;
  std::int64_t t_ = 0;
};

inline Trajectory run(const Problem& problem, Vector start, const Settings& settings) {
  Training training(problem, std::move(start), settings);
  Trajectory trajectory;
  for (std::int64_t t = 0; t < settings.steps; ++t) trajectory.theta.push_back(training.step());
  trajectory.averaged = training.averaged();
  return trajectory;
}

}  // namespace fodp::plain
