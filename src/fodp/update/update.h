// How a release moves the parameters. Post-processing: a Release, the expected lot and the step are all an update sees.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fodp/base/fields.h"
#include "fodp/mechanism/mechanism.h"

namespace fodp {

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

class Update {
 public:
  virtual ~Update() = default;
  virtual void apply(std::span<float> parameters, const Release& release, double expected_lot, double lr) = 0;
};

}  // namespace fodp
