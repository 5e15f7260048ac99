// How a release moves the parameters. Post-processing: releases, the expected lot and the step are all an update sees.
//
//   Release --filter (filter.h)--> Gradient --update rule--> parameters --averaging (averaging.h)--> what is evaluated and saved
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "fodp/base/fields.h"
#include "fodp/update/adam.h"
#include "fodp/update/momentum.h"
#include "fodp/update/sgd.h"

namespace fodp {

enum class UpdateKind { sgd, momentum, adam, adambc, adamw };

template <>
struct EnumNames<UpdateKind> {
  static constexpr std::pair<std::string_view, UpdateKind> values[] = {{"sgd", UpdateKind::sgd},
                                                                       {"momentum", UpdateKind::momentum},
                                                                       {"adam", UpdateKind::adam},
                                                                       {"adambc", UpdateKind::adambc},
                                                                       {"adamw", UpdateKind::adamw}};
};

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

std::unique_ptr<Update> make_update(UpdateKind kind, const MomentumOptions& momentum, const AdamOptions& adam);

}  // namespace fodp
