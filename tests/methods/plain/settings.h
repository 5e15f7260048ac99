// The options that matter to a method of docs/methods.md when nothing is random, with the program's defaults, and the table that says which
// stages a method is made of. An empty optional stands for the method's own choice.
#pragma once

#include <cstdint>
#include <vector>

#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <string>

#include "methods/plain/model.h"

namespace fodp::plain {

enum class LrDecay { none, linear, cosine };
enum class Clipping { flat, automatic, adaptive };
enum class GroupClip { whole, shared, each };  // one norm; C/sqrt(G) per layer; C per layer
enum class Release { gaussian, fractional, spectral, banded };
enum class Filter { none, low_pass, memory, kalman };  // DOPPLER, Post-FM, DiSK
enum class Update { sgd, momentum, adam, adambc, adamw };
enum class Kernel { current, uniform, exponential, tempered, confidence, grunwald };
enum class MomentumForm { ema, heavy_ball };
enum class Averaging { none, ema, polynomial };

struct Settings {
  std::string method = "fo-dp-sgd";  // a name of `fodp methods`
  std::int64_t steps = 10;
  double lr = .8;
  LrDecay lr_decay = LrDecay::none;

  double clip_norm = 1;                      // C, also R of automatic clipping and C_0 of adaptive
  std::optional<Clipping> clipping = {};     // flat; adp-adamw and dp-adam-ac: adaptive
  std::optional<GroupClip> group_clip = {};  // whole; with the spectral release: shared
  std::optional<double> clip_target = {};    // .5; dp-adam-ac: .8
  double clip_rate = .2;

  std::optional<Release> release = {};
  std::optional<Filter> filter = {};
  std::optional<Update> update = {};

  // Memory: the fractional and spectral releases and the memory filter.
  double beta = .9;
  Vector beta_schedule = {};  // beta of each step; empty: beta throughout
  double alpha = .8;
  std::int64_t window = 8;
  double gamma = .1;
  Kernel kernel = Kernel::confidence;
  double lambda = 0;
  double tau = .1;
  std::optional<double> kappa = {};  // 1e-6*C
  std::optional<double> zeta = {};   // C
  double stability = 1e-12;
  double kernel_decay = .5;
  int lag_origin = 1;

  // Spectral release.
  double rho_min = 2, rho_max = 6;
  double spectral_rate = .5;         // c_lambda
  double gate_max = 1;               // xi_max
  double warmup = 50;                // tau_w, steps
  double gate_stability = 1e-8;      // eps
  std::int64_t spectral_every = 25;  // R

  std::int64_t bands = 1;                  // banded release: b groups at q = 1/b
  std::vector<std::uint16_t> groups = {};  // of each row, below `bands`

  // Filters and updates.
  int low_pass_order = 2;
  double disk_kappa = .7;
  double momentum = .9;
  MomentumForm momentum_form = MomentumForm::ema;
  double adam_beta1 = .9, adam_beta2 = .999, adam_eps = 1e-8;
  double adambc_floor = 1e-6;
  double weight_decay = .01;  // adamw

  // A method's own step.
  std::optional<double> rho = {};               // dp-sat: .03; dp-sam: .05
  double loss_clip = 1;                         // annealed: Cv
  double acceptance = 0;                        // annealed: beta_acc
  std::optional<double> norm_total_floor = {};  // dp-is: K_floor, N*C/2

  std::optional<Averaging> averaging = {};  // none; dp-adam-ac: ema
  double ema_decay = .999;
  double polynomial_eta = 8;

  double beta_at(std::int64_t t) const { return beta_schedule.empty() ? beta : beta_schedule.at(static_cast<std::size_t>(t)); }

  double lr_at(std::int64_t t) const {
    const double done = static_cast<double>(t) / static_cast<double>(steps);
    if (lr_decay == LrDecay::linear) return lr * (1 - done);
    if (lr_decay == LrDecay::cosine) return lr * .5 * (1 + std::cos(std::numbers::pi * done));
    return lr;
  }
};

// Where a step asks its query and what it does with the answer, beside the stages.
enum class Step { plain, previous_direction, look_ahead, two_queries, annealed, importance, scaled_lr };

struct Stages {
  Release release = Release::gaussian;
  Filter filter = Filter::none;
  Update update = Update::sgd;
  Step step = Step::plain;
  Clipping clipping = Clipping::flat;
  GroupClip group_clip = GroupClip::whole;
  double clip_target = .5;
  double rho = 0;
  Averaging averaging = Averaging::none;
};

inline Stages stages_of(const std::string& method) {
  static const std::map<std::string, Stages> table = {
      {"dp-sgd", {}},
      {"fo-dp-sgd", {.release = Release::fractional}},
      {"sma-dp-sgd", {.release = Release::spectral}},
      {"bandmf", {.release = Release::banded}},
      {"post-fm-dp-sgd", {.filter = Filter::memory}},
      {"doppler", {.filter = Filter::low_pass}},
      {"disk", {.filter = Filter::kalman, .step = Step::look_ahead}},
      {"momentum", {.update = Update::momentum}},
      {"dp-adam", {.update = Update::adam}},
      {"dp-adambc", {.update = Update::adambc}},
      {"dp-adamw", {.update = Update::adamw}},
      {"adp-adamw", {.update = Update::adamw, .clipping = Clipping::adaptive}},
      {"dp-adam-ac",
       {.update = Update::adamw, .step = Step::scaled_lr, .clipping = Clipping::adaptive, .clip_target = .8, .averaging = Averaging::ema}},
      {"dp-sat", {.step = Step::previous_direction, .rho = .03}},
      {"dp-sam", {.step = Step::two_queries, .rho = .05}},
      {"sa-dp-sgd", {.step = Step::two_queries, .rho = .05}},
      {"annealed-dp-sgd", {.step = Step::annealed}},
      {"dp-is", {.step = Step::importance}},
  };
  const auto found = table.find(method);
  if (found == table.end()) throw std::invalid_argument("plain: no method " + method);
  return found->second;
}

// Refuses pairings that docs/methods.md gives no meaning, and those that are not deterministic.
inline void refuse_undefined(const Stages& stages, std::int64_t bands) {
  const bool remembers = stages.release == Release::fractional || stages.release == Release::spectral;
  if (stages.step == Step::two_queries && remembers) throw std::invalid_argument("plain: two queries a step on a release with memory");
  if (stages.step == Step::scaled_lr && stages.clipping != Clipping::adaptive) {
    throw std::invalid_argument("plain: dp-adam-ac needs the count of adaptive clipping");
  }
  if (stages.step == Step::importance && (stages.clipping != Clipping::flat || stages.group_clip != GroupClip::whole)) {
    throw std::invalid_argument("plain: dp-is clips flat and whole");
  }
  const bool all_rows = stages.release != Release::banded || bands == 1;
  if ((stages.step == Step::importance || stages.step == Step::annealed) && !all_rows) {
    throw std::invalid_argument("plain: dp-is and annealed-dp-sgd need q = 1");
  }
}

// The method's stages with the overrides of the settings.
inline Stages resolve(const Settings& settings) {
  Stages stages = stages_of(settings.method);
  stages.release = settings.release.value_or(stages.release);
  stages.filter = settings.filter.value_or(stages.filter);
  stages.update = settings.update.value_or(stages.update);
  stages.clipping = settings.clipping.value_or(stages.clipping);
  stages.group_clip = settings.group_clip.value_or(stages.release == Release::spectral ? GroupClip::shared : GroupClip::whole);
  stages.clip_target = settings.clip_target.value_or(stages.clip_target);
  stages.rho = settings.rho.value_or(stages.rho);
  stages.averaging = settings.averaging.value_or(stages.averaging);
  refuse_undefined(stages, settings.bands);
  return stages;
}

}  // namespace fodp::plain
