// The stage "averaging": an average of the parameters over the steps, for evaluation and the saved model. Post-processing, whatever the
// method.
//
//   ema         a <- d*a + (1-d)*theta_t, over 1-d^t: the start has no weight
//   polynomial  a <- (1 - (p+1)/(t+p))*a + (p+1)/(t+p)*theta_t      (Shamir and Zhang 2013), t from 1
#pragma once

#include <span>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/base/state.h"
#include "fodp/stages/stage.h"

namespace fodp {

class WeightAverage {
 public:
  virtual ~WeightAverage() = default;

  void add(std::span<const float> parameters);  // after each step
  bool started() const { return steps_ > 0; }
  std::vector<float> value() const;
  void state(StateVisitor& visit);

 private:
  virtual double fresh(double steps) const = 0;  // the weight of the newest parameters after so many steps

  std::vector<double> sum_;
  double steps_ = 0, weight_ = 0;
};

struct EmaOptions {
  double averaging_decay = .999;

  static auto fields() {
    return std::tuple{field("averaging-decay", &EmaOptions::averaging_decay, "how much of the average is kept in a step",
                            {.low = 0, .high = 1, .high_open = true})};
  }
};

struct PolynomialOptions {
  double averaging_power = 8;

  static auto fields() {
    return std::tuple{
        field("averaging-power", &PolynomialOptions::averaging_power, "0 is the plain mean, more leans to the last steps", at_least(0))};
  }
};

class EmaAverage : public WeightAverage {
 public:
  explicit EmaAverage(const EmaOptions& options) : decay_(options.averaging_decay) { validate_fields(options); }

 private:
  double fresh(double) const override { return 1 - decay_; }
  double decay_;
};

class PolynomialAverage : public WeightAverage {
 public:
  explicit PolynomialAverage(const PolynomialOptions& options) : power_(options.averaging_power) { validate_fields(options); }

 private:
  double fresh(double steps) const override { return (power_ + 1) / (steps + power_); }
  double power_;
};

struct AveragingTraits {};
using AveragingEntry = StageEntry<WeightAverage, AveragingTraits>;

Table<AveragingEntry> averaging_table();

}  // namespace fodp
