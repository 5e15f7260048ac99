#include "fodp/update/averaging.h"

namespace fodp {

// Every average, in the order of the lists people see: one line each. The first is that of a method that names none.
#define FODP_AVERAGES(M, Entry) \
  M(Entry, kNoAverage)          \
  M(Entry, kEmaAverage)         \
  M(Entry, kPolynomialAverage)

FODP_TABLE(averaging_table, AveragingEntry, FODP_AVERAGES)

void WeightAverage::add(std::span<const float> parameters) {
  sum_.resize(parameters.size(), 0.0);
  steps_ += 1;
  const double newest = fresh(steps_);
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] = (1 - newest) * sum_[i] + newest * parameters[i];
  weight_ = (1 - newest) * weight_ + newest;
}

std::vector<float> WeightAverage::value() const {
  std::vector<float> average(sum_.size());
  for (std::size_t i = 0; i < sum_.size(); ++i) average[i] = static_cast<float>(sum_[i] / weight_);
  return average;
}

void WeightAverage::state(StateVisitor& visit) {
  visit("sum", sum_);
  visit("steps", steps_);
  visit("weight", weight_);
}

extern const AveragingEntry kNoAverage = {.name = "none", .summary = "the last parameters"};

extern const AveragingEntry kEmaAverage = {
    .name = "ema",
    .summary = "an exponential average",
    .options = {reads<EmaOptions>()},
    .make = [](const RunContext& context) -> std::unique_ptr<WeightAverage> {
      return std::make_unique<EmaAverage>(context.options.of<EmaOptions>());
    },
};

extern const AveragingEntry kPolynomialAverage = {
    .name = "polynomial",
    .summary = "a mean that leans to the last steps",
    .options = {reads<PolynomialOptions>()},
    .make = [](const RunContext& context) -> std::unique_ptr<WeightAverage> {
      return std::make_unique<PolynomialAverage>(context.options.of<PolynomialOptions>());
    },
};

}  // namespace fodp
