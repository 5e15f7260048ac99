// Averages of the parameters over the steps, for evaluation and the saved model: post-processing, whatever the method.
//
//   ema         a <- d*a + (1-d)*theta_t, over 1-d^t: the start has no weight
//   polynomial  a <- (1 - (p+1)/(t+p))*a + (p+1)/(t+p)*theta_t      (Shamir and Zhang 2013), t from 1
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fodp/base/fields.h"

namespace fodp {

enum class Averaging { none, ema, polynomial };

template <>
struct EnumNames<Averaging> {
  static constexpr std::pair<std::string_view, Averaging> values[] = {
      {"none", Averaging::none}, {"ema", Averaging::ema}, {"polynomial", Averaging::polynomial}};
};

struct AveragingOptions {
  std::optional<Averaging> averaging;
  double averaging_decay = .999;
  double averaging_power = 8;

  static auto fields() {
    using Self = AveragingOptions;
    return std::tuple{
        field("averaging", &Self::averaging, "evaluate and save an average of the parameters over the steps: ema or polynomial", {},
              "none"),
        field("averaging-decay", &Self::averaging_decay, "ema: how much of the average is kept in a step",
              {.low = 0, .high = 1, .high_open = true}),
        field("averaging-power", &Self::averaging_power, "polynomial: 0 is the plain mean, more leans to the last steps", at_least(0)),
    };
  }

  Averaging kind() const { return averaging.value_or(Averaging::none); }
};

class WeightAverage {
 public:
  explicit WeightAverage(const AveragingOptions& options);

  void add(std::span<const float> parameters);  // after each step
  bool active() const { return options_.kind() != Averaging::none && steps_ > 0; }
  std::vector<float> value() const;

 private:
  AveragingOptions options_;
  std::vector<double> sum_;
  double steps_ = 0, weight_ = 0;
};

}  // namespace fodp
