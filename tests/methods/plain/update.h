// From the released gradient to the parameters, all of it post-processing: the filters of docs/methods.md, the update rules, and the
// averages of the parameters taken for evaluation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "methods/plain/model.h"
#include "methods/plain/release.h"
#include "methods/plain/settings.h"

namespace fodp::plain {

// DOPPLER. The filter runs on the gradient with a 1 appended: that last entry is the filter run on ones, the divisor.
class LowPass {
 public:
  explicit LowPass(int order) {
    if (order == 1) {
      a_ = {1, -.9};
      b_ = {.1};
    } else {
      a_ = {1, -1.98342955, .98549544};
      b_ = {1.6332e-4, 3.2665e-4, 1.6332e-4};
    }
  }

  Vector apply(Vector g) {
    g.push_back(1);
    inputs_.push_front(g);
    Vector m(g.size());
    for (std::size_t r = 0; r < std::min(b_.size(), inputs_.size()); ++r) mix(1, m, b_[r], inputs_[r]);
    for (std::size_t r = 1; r <= std::min(a_.size() - 1, outputs_.size()); ++r) mix(1, m, -a_[r], outputs_[r - 1]);
    outputs_.push_front(m);
    const double ones = m.back();
    m.pop_back();
    for (double& value : m) value /= ones;
    return m;
  }

 private:
  Vector a_, b_;
  std::deque<Vector> inputs_, outputs_;  // newest first, before the division
};

// Between release and update.
class GradientFilter {
 public:
  GradientFilter(const Settings& settings, Filter kind, double lot_size)
      : kind_(kind),
        kalman_kappa_(settings.disk_kappa),
        low_pass_(settings.low_pass_order),
        memory_(settings, settings.kappa.value_or(1e-6 * settings.clip_norm) / lot_size,
                settings.zeta.value_or(settings.clip_norm) / lot_size) {}

  Vector apply(const Vector& g, std::int64_t t) {
    if (kind_ == Filter::low_pass) return low_pass_.apply(g);
    if (kind_ == Filter::memory) return post_memory(g, t);
    if (kind_ == Filter::kalman) return kalman(g);
    return g;
  }

 private:
  // The memory holds the releases y_t, not what the filter made of them.
  Vector post_memory(const Vector& g, std::int64_t t) {
    const Vector filtered = memory_.mixed(g, t);
    memory_.add(g);
    return filtered;
  }

  Vector kalman(const Vector& g) {
    if (m_.empty()) m_ = g;
    mix(1 - kalman_kappa_, m_, kalman_kappa_, g);
    return m_;
  }

  Filter kind_;
  double kalman_kappa_;
  LowPass low_pass_;
  Memory memory_;
  Vector m_;
};

class UpdateRule {
 public:
  UpdateRule(const Settings& settings, Update kind, std::size_t size) : settings_(settings), kind_(kind), m_(size), v_(size) {}

  void step(Vector& theta, const Vector& g, double lr) {
    ++t_;
    if (kind_ == Update::sgd) return mix(1, theta, -lr, g);
    if (kind_ == Update::momentum) return momentum(theta, g, lr);
    adam(theta, g, lr);
  }

 private:
  void momentum(Vector& theta, const Vector& g, double lr) {
    const double mu = settings_.momentum;
    if (settings_.momentum_form == MomentumForm::heavy_ball) {
      mix(mu, m_, 1, g);
      return mix(1, theta, -lr, m_);
    }
    mix(mu, m_, 1 - mu, g);
    mix(1, theta, -lr / correction(mu), m_);
  }

  void adam(Vector& theta, const Vector& g, double lr) {
    for (std::size_t i = 0; i < theta.size(); ++i) {
      m_[i] = settings_.adam_beta1 * m_[i] + (1 - settings_.adam_beta1) * g[i];
      v_[i] = settings_.adam_beta2 * v_[i] + (1 - settings_.adam_beta2) * g[i] * g[i];
      const double m = m_[i] / correction(settings_.adam_beta1), v = v_[i] / correction(settings_.adam_beta2);
      if (kind_ == Update::adamw) theta[i] -= lr * settings_.weight_decay * theta[i];
      // Phi of AdamBC is 0 without noise.
      const double scale = kind_ == Update::adambc ? std::sqrt(std::max(v, settings_.adambc_floor)) : std::sqrt(v) + settings_.adam_eps;
      theta[i] -= lr * m / scale;
    }
  }

  double correction(double decay) const { return 1 - std::pow(decay, static_cast<double>(t_)); }

  Settings settings_;
  Update kind_;
  Vector m_, v_;
  std::int64_t t_ = 0;
};

class WeightAverage {
 public:
  WeightAverage(const Settings& settings, Averaging kind, const Vector& start)
      : kind_(kind), decay_(settings.ema_decay), eta_(settings.polynomial_eta), last_(start), sum_(start.size()) {}

  void add(const Vector& theta) {
    ++t_;
    last_ = theta;
    const double share = kind_ == Averaging::ema ? 1 - decay_ : (eta_ + 1) / (t_ + eta_);
    mix(1 - share, sum_, share, theta);
  }

  // The last parameters if nothing is averaged.
  Vector value() const {
    if (kind_ == Averaging::none || t_ == 0) return last_;
    Vector average = sum_;
    const double weight = kind_ == Averaging::ema ? 1 - std::pow(decay_, t_) : 1;
    for (double& value : average) value /= weight;
    return average;
  }

 private:
  Averaging kind_;
  double decay_, eta_;
  double t_ = 0;
  Vector last_, sum_;
};

}  // namespace fodp::plain
