// The stage "update": how a released gradient moves the parameters. Post-processing: releases, the expected lot and the step are all that
// an update rule sees.
//
//   Release --filter (filter.h)--> Gradient --update rule--> parameters --averaging (averaging.h)--> what is evaluated and saved
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fodp/base/fields.h"
#include "fodp/base/state.h"
#include "fodp/stages/stage.h"

namespace fodp {

// A released sum, or what a filter made of several: private, free to use.
struct Gradient {
  std::span<const float> sum;
  double expected_lot;                   // divides it: the expected lot, never the realised one
  std::optional<double> noise_variance;  // of the noise in each coordinate of the sum, where it is known
};

class Update {
 public:
  virtual ~Update() = default;
  virtual void apply(std::span<float> parameters, const Gradient& gradient, double lr) = 0;
  virtual void state(StateVisitor& /*visit*/) {}
};

struct UpdateTraits {
  double lr = 4;                      // that suits the rule on the project's benchmarks (docs/reproduction.md)
  bool needs_noise_variance = false;  // Gradient::noise_variance must have a value
  // How far one gradient moves the parameters in the end, over its length and the learning rate: for rules that move along gradients.
  double (*gain)(const OptionSet& options) = [](const OptionSet&) { return 1.0; };
};

using UpdateEntry = StageEntry<Update, UpdateTraits>;

Table<UpdateEntry> update_table();

enum class LearningRateDecay { none, linear, cosine };

template <>
struct EnumNames<LearningRateDecay> {
  static constexpr std::pair<std::string_view, LearningRateDecay> values[] = {
      {"none", LearningRateDecay::none}, {"linear", LearningRateDecay::linear}, {"cosine", LearningRateDecay::cosine}};
};

struct UpdateOptions {
  std::optional<double> lr;
  LearningRateDecay lr_decay = LearningRateDecay::none;

  static auto fields() {
    return std::tuple{
        field("lr", &UpdateOptions::lr, "learning rate, on the released sum over the expected lot", at_least(0), "the method's"),
        field("lr-decay", &UpdateOptions::lr_decay, "none, linear (to 0 at the end) or cosine (likewise)"),
    };
  }
};

// The rate of step `step` of `steps`, counted from 0.
double learning_rate(double lr, LearningRateDecay decay, std::int64_t step, std::int64_t steps);

// InputError unless the gradient has the parameters' size.
void check_sizes(std::span<const float> parameters, const Gradient& gradient);

}  // namespace fodp
