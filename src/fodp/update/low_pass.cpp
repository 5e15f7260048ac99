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

double LowPass::step(State& state, double value) const {
  const double output =
      -a_[0] * state.output[0] - a_[1] * state.output[1] + b_[0] * value + b_[1] * state.input[0] + b_[2] * state.input[1];
  state.output = {output, state.output[0]};
  state.input = {value, state.input[0]};
  return output;
}

std::span<const float> LowPass::apply(std::span<const float> sum) {
  states_.resize(sum.size());
  filtered_.resize(sum.size());
  const double gain = step(ones_, 1);
  for (std::size_t i = 0; i < sum.size(); ++i) filtered_[i] = static_cast<float>(step(states_[i], sum[i]) / gain);
  return filtered_;
}

}  // namespace fodp
