// From per-example gradients to the released sum S_t when no noise is drawn: clipping, and the memories of FO-DP-SGD (arXiv 2605.09890, eq.
// 4 to 9) and SMA-DP-SGD (arXiv 2605.20450) as the papers write them, with every vector formed and every norm taken.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "mechanism/plain_power_law.h"
#include "methods/plain/model.h"
#include "methods/plain/settings.h"

namespace fodp::plain {

inline double norm(const Vector& x) {
  double sum = 0;
  for (double value : x) sum += value * value;
  return std::sqrt(sum);
}

// x <- a*x + b*y
inline void mix(double a, Vector& x, double b, const Vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = a * x[i] + b * y[i];
}

inline Vector part(const Vector& x, const Group& group) {
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(group.offset);
  return Vector(first, first + static_cast<std::ptrdiff_t>(group.size));
}

// Clips one gradient at a time under a bound that adapts after each sum.
class Clipper {
 public:
  Clipper(const Settings& settings, const Stages& stages, const Mlp& net)
      : settings_(settings), stages_(stages), parts_(net.groups()), bound_(settings.clip_norm) {
    if (stages.group_clip == GroupClip::whole) parts_ = {{0, net.parameters(), 0, 0}};
  }

  // The sum of clipped gradients; lot_size is the expected lot L.
  Vector sum(const std::vector<Vector>& gradients, std::size_t size, double lot_size) {
    Vector total(size);
    double count = 0;  // sum of b_i - 1/2
    for (Vector gradient : gradients) {
      count += clip(gradient) - .5;
      mix(1, total, 1, gradient);
    }
    unclipped_ = count / lot_size + .5;
    if (stages_.clipping == Clipping::adaptive) adapt();
    return total;
  }

  double unclipped() const { return unclipped_; }  // bt of the last sum

 private:
  // Clips in place; the share of parts that were within their bound.
  double clip(Vector& gradient) const {
    const double parts = static_cast<double>(parts_.size());
    const double bound = stages_.group_clip == GroupClip::shared ? bound_ / std::sqrt(parts) : bound_;
    double within = 0;
    for (const Group& each : parts_) {
      const double length = norm(part(gradient, each));
      if (length <= bound) within += 1;
      const double factor = stages_.clipping == Clipping::automatic ? bound / (length + .01) : 1 / std::max(1., length / bound);
      for (std::size_t i = 0; i < each.size; ++i) gradient[each.offset + i] *= factor;
    }
    return within / parts;
  }

  void adapt() {
    const double start = settings_.clip_norm;
    bound_ = std::clamp(bound_ * std::exp(-settings_.clip_rate * (unclipped_ - stages_.clip_target)), start / 100, start * 100);
  }

  Settings settings_;
  Stages stages_;
  std::vector<Group> parts_;
  double bound_;
  double unclipped_ = 0;
};

// The last `window` - 1 vectors, newest first, and their trend.
class History {
 public:
  History(std::int64_t window, double gamma) : capacity_(static_cast<std::size_t>(window - 1)), gamma_(gamma) {}

  void add(const Vector& x) {
    if (trend_.empty()) {
      trend_ = x;
    } else {
      mix(1 - gamma_, trend_, gamma_, x);
    }
    past_.push_front(x);
    if (past_.size() > capacity_) past_.pop_back();
  }

  const Vector& trend() const { return trend_; }
  const std::deque<Vector>& past() const { return past_; }  // past()[j - 1] is lag j

 private:
  std::size_t capacity_;
  double gamma_;
  Vector trend_;
  std::deque<Vector> past_;
};

// exp(logs) normalised to sum 1.
inline Vector normalised(Vector logs) {
  if (logs.empty()) return logs;
  const double top = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (double& value : logs) sum += value = std::exp(value - top);
  for (double& value : logs) value /= sum;
  return logs;
}

// beta*x + (1-beta)*u, with u FO-DP-SGD's memory (eq. 9). On sums it is FO-DP-SGD's query, on gradients Post-FM's filter.
class Memory {
 public:
  Memory(const Settings& settings, double kappa, double zeta)
      : settings_(settings), kappa_(kappa), zeta_(zeta), history_(settings.window, settings.gamma) {}

  Vector mixed(Vector x, std::int64_t t) const {
    const double beta = settings_.kernel == Kernel::current ? 1 : settings_.beta_at(t);
    for (double& value : x) value *= beta;
    const Vector weights = normalised(log_weights());
    for (std::size_t k = 0; k < weights.size(); ++k) mix(1, x, (1 - beta) * weights[k], history_.past()[k]);
    return x;
  }

  void add(const Vector& x) { history_.add(x); }

 private:
  Vector log_weights() const {
    Vector logs;
    for (std::size_t k = 0; k < history_.past().size(); ++k) logs.push_back(log_weight(k));
    return logs;
  }

  double log_weight(std::size_t k) const {
    const double lag = static_cast<double>(k) + settings_.lag_origin, alpha = settings_.alpha;
    const double power = (alpha - 1) * std::log(lag + 1);
    const double integral = std::lgamma(lag + alpha) - std::lgamma(alpha) - std::lgamma(lag + 1);
    switch (settings_.kernel) {
      case Kernel::current:
      case Kernel::uniform:
        return 0;
      case Kernel::exponential:
        return static_cast<double>(k) * std::log(settings_.kernel_decay);
      case Kernel::tempered:
        return power - settings_.lambda * lag;
      case Kernel::confidence:
        return power - tempering(k) * lag;
      case Kernel::grunwald:
        return integral - tempering(k) * lag;
    }
    return 0;
  }

  // lambda + chi*tau*nu of lag k + 1
  double tempering(std::size_t k) const {
    const double trend = norm(history_.trend());
    Vector difference = history_.past()[k];
    mix(1, difference, -1, history_.trend());
    const double nu = norm(difference) / (std::max(trend, kappa_) + settings_.stability);
    const double chi = trend / (trend + zeta_);
    return settings_.lambda + chi * settings_.tau * nu;
  }

  Settings settings_;
  double kappa_, zeta_;
  History history_;
};

// SMA-DP-SGD's memory for one group of parameters.
class SpectralGroup {
 public:
  SpectralGroup(const Settings& settings, const Group& group)
      : settings_(settings), group_(group), history_(settings.window, settings.gamma) {}

  // This group's S_t from its part of the sum and the parameters theta_t.
  Vector release(Vector sum, const Vector& theta, std::int64_t t) {
    if (t % settings_.spectral_every == 0) lambda_ = tempering(theta);
    const double beta = settings_.beta_at(t);
    const Vector v = memory(sum.size());
    mix(beta, sum, (1 - beta) * gate(v, t), v);
    history_.add(sum);
    return sum;
  }

 private:
  double tempering(const Vector& theta) const {
    const auto first = theta.begin() + static_cast<std::ptrdiff_t>(group_.offset);
    const Vector weight(first, first + static_cast<std::ptrdiff_t>(group_.rows * group_.cols));
    const std::optional<double> rho = power_law_exponent(squared_singular_values(weight, group_.rows, group_.cols));
    if (!rho) return 0;
    return 1 - std::exp(-settings_.spectral_rate * std::max({0., settings_.rho_min - *rho, *rho - settings_.rho_max}));
  }

  Vector memory(std::size_t size) const {
    Vector logs, v(size);
    for (std::size_t j = 1; j <= history_.past().size(); ++j) {
      const double lag = static_cast<double>(j);
      logs.push_back((settings_.alpha - 1) * std::log(lag + 1) - lambda_ * lag);
    }
    const Vector weights = normalised(logs);
    for (std::size_t k = 0; k < weights.size(); ++k) mix(1, v, weights[k], history_.past()[k]);
    return v;
  }

  // omega*Gamma*Psi
  double gate(const Vector& v, std::int64_t t) const {
    if (history_.past().empty()) return 0;
    const Vector& mu = history_.trend();
    const double cosine = power_law::inner(mu, v) / (norm(mu) * norm(v) + settings_.gate_stability);
    const double psi = std::min(settings_.gate_max, norm(mu) / (norm(v) + settings_.gate_stability));
    const double omega = 1 - std::exp(-static_cast<double>(t) / settings_.warmup);
    return omega * std::max(0., cosine) * psi;
  }

  Settings settings_;
  Group group_;
  History history_;
  double lambda_ = 0;
};

// S_t from s_t. Without noise the Gaussian and the banded release are the sum itself.
class Releaser {
 public:
  Releaser(const Settings& settings, Release kind, const Mlp& net)
      : kind_(kind), memory_(settings, settings.kappa.value_or(1e-6 * settings.clip_norm), settings.zeta.value_or(settings.clip_norm)) {
    for (const Group& group : net.groups()) groups_.emplace_back(group, SpectralGroup(settings, group));
  }

  Vector release(const Vector& sum, const Vector& theta, std::int64_t t) {
    if (kind_ == Release::fractional) return fractional(sum, t);
    if (kind_ == Release::spectral) return spectral(sum, theta, t);
    return sum;
  }

 private:
  Vector fractional(const Vector& sum, std::int64_t t) {
    const Vector released = memory_.mixed(sum, t);
    memory_.add(released);
    return released;
  }

  Vector spectral(const Vector& sum, const Vector& theta, std::int64_t t) {
    Vector released(sum.size());
    for (auto& [group, state] : groups_) {
      const Vector own = state.release(part(sum, group), theta, t);
      std::copy(own.begin(), own.end(), released.begin() + static_cast<std::ptrdiff_t>(group.offset));
    }
    return released;
  }

  Release kind_;
  Memory memory_;
  std::vector<std::pair<Group, SpectralGroup>> groups_;
};

}  // namespace fodp::plain
