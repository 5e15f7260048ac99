#include "fodp/update/low_pass.h"

namespace fodp {

LowPass::LowPass(const LowPassOptions& options) {
  validate_fields(options);
  if (options.filter_order == 1) {
    a_ = {-.9, 0};
    b_ = {.1, 0, 0};
  } else {
    a_ = {-1.98342955, .98549544};
    b_ = {1.6332e-4, 3.2665e-4, 1.6332e-4};
  }
}

double LowPass::step(double* past, double value) const {
  const double output = -a_[0] * past[0] - a_[1] * past[1] + b_[0] * value + b_[1] * past[2] + b_[2] * past[3];
  past[1] = past[0], past[0] = output;
  past[3] = past[2], past[2] = value;
  return output;
}

std::span<const float> LowPass::apply(std::span<const float> sum) {
  past_.resize(kPast * sum.size());
  filtered_.resize(sum.size());
  const double gain = step(ones_.data(), 1);
  for (std::size_t i = 0; i < sum.size(); ++i) filtered_[i] = static_cast<float>(step(past_.data() + kPast * i, sum[i]) / gain);
  return filtered_;
}

void LowPass::state(StateVisitor& visit) {
  visit("past", past_);
  visit("ones", ones_);
}

extern const FilterEntry kLowPassFilter = {
    .name = "low-pass",
    .summary = "a recursive filter that keeps what changes slowly",
    .options = {reads<LowPassOptions>()},
    // Descent through the second-order filter is stable at small rates only (docs/reproduction.md).
    .traits = {.lr =
                   [](const OptionSet& options) {
                     return options.of<LowPassOptions>().filter_order == 2 ? std::optional(.02) : std::nullopt;
                   }},
    .make = [](const RunContext& context) -> std::unique_ptr<Filter> {
      return std::make_unique<LowPass>(context.options.of<LowPassOptions>());
    },
};

}  // namespace fodp
