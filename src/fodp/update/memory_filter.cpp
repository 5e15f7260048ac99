#include "fodp/update/memory_filter.h"

#include <algorithm>

namespace fodp {

void MemoryFilter::make_memory(std::int64_t size) {
  memory_.emplace(parameters_.window, size, parameters_.uses_trend() ? std::optional(parameters_.gamma) : std::nullopt);
}

std::span<const float> MemoryFilter::apply(std::span<const float> sum) {
  const double beta = beta_.at(std::min(step_++, steps_ - 1), steps_);
  if (!memory_) make_memory(static_cast<std::int64_t>(sum.size()));
  const std::vector<double> weights = memory_weights(parameters_, *memory_);
  std::vector<double> blend(sum.size(), 0.0);
  memory_->add_blend(weights, 0, blend);
  blended_.resize(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) blended_[i] = static_cast<float>(beta * sum[i] + (1 - beta) * blend[i]);
  memory_->finish(memory_->insert(0, sum));
  return blended_;
}

void MemoryFilter::state(StateVisitor& visit) {
  visit("step", step_);
  std::int64_t size = memory_ ? memory_->size() : 0;
  visit("size", size);
  if (size > 0 && !memory_) make_memory(size);
  if (memory_) visit.part("memory", *memory_);
}

namespace {

// Releases are in units of sums here, those of the paper in units of gradients: dividing kappa and zeta by the expected lot L
// (docs/methods.md, post-fm-dp-sgd) leaves both as they are, and multiplies the stability constant by L.
std::unique_ptr<Filter> make(const RunContext& context) {
  const auto& options = context.options.of<FractionalOptions>();
  FractionalParameters parameters = resolve(options, context.clip_norm, context.noise_norm());
  parameters.stability *= context.expected_lot();
  return std::make_unique<MemoryFilter>(parameters, options.beta_schedule(), context.steps);
}

}  // namespace

extern const FilterEntry kMemoryFilter = {
    .name = "memory",
    .summary = "a blend with the fractional memory of past releases",
    .options = {reads<FractionalOptions>(
        {"beta", "alpha", "window", "lambda", "tau", "gamma", "kappa", "zeta", "stability", "kernel", "kernel-decay", "lag-origin"})},
    .fill = fill_memory,
    .check = check_memory,
    .make = make,
};

}  // namespace fodp
