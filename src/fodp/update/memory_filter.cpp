#include "fodp/update/memory_filter.h"

#include <algorithm>

namespace fodp {

std::span<const float> MemoryFilter::apply(std::span<const float> sum) {
  const double beta = beta_.at(std::min(step_++, steps_ - 1), steps_);
  if (!memory_)
    memory_.emplace(parameters_.window, static_cast<std::int64_t>(sum.size()),
                    parameters_.uses_trend() ? std::optional(parameters_.gamma) : std::nullopt);
  const std::vector<double> weights = memory_weights(parameters_, *memory_);
  std::vector<double> blend(sum.size(), 0.0);
  for (std::size_t j = 1; j <= weights.size(); ++j) {
    const std::span<const float> past = memory_->at_lag(static_cast<std::int64_t>(j));
    for (std::size_t i = 0; i < sum.size(); ++i) blend[i] += weights[j - 1] * past[i];
  }
  blended_.resize(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) blended_[i] = static_cast<float>(beta * sum[i] + (1 - beta) * blend[i]);
  memory_->finish(memory_->insert(0, sum));
  return blended_;
}

}  // namespace fodp
