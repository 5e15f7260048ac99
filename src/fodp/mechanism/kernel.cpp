#include "fodp/mechanism/kernel.h"

#include <algorithm>
#include <cmath>

namespace fodp {

FractionalParameters resolve(const FractionalOptions& options, double clip_norm, double noise_norm) {
  validate_fields(options);
  const bool current = options.kernel == Kernel::current;
  const Schedule beta = options.beta_schedule();
  check_input(!current || beta == Schedule(1), "`beta` is {}: `kernel` current has no memory and takes beta 1 only", beta.text());
  const ConfidenceScale zeta = options.zeta.value_or(ConfidenceScale{.value = clip_norm});
  return {.kernel = options.kernel,
          .beta = beta.first(),
          .alpha = options.alpha,
          .window = options.window,
          .lambda = options.lambda,
          .tau = options.tau,
          .gamma = options.gamma,
          .kappa = options.kappa.value_or(1e-6 * clip_norm),
          .zeta = zeta.noise_norm ? noise_norm : zeta.value,
          .stability = options.stability.value_or(kKernelStability),
          .kernel_decay = options.kernel_decay,
          .lag_origin = options.lag_origin,
          .denoise = options.denoise};
}

void fill_memory(OptionSet& options, const RunContext& context) {
  auto& memory = options.of<FractionalOptions>();
  const FractionalParameters used = resolve(memory, context.clip_norm, context.noise_norm());
  memory.beta = memory.beta_schedule();
  memory.kappa = used.kappa;
  if (!memory.zeta) memory.zeta = ConfidenceScale{.value = used.zeta};
  if (!memory.stability) memory.stability = used.stability;
}

void check_memory(const RunContext& context) {
  context.options.of<FractionalOptions>().beta_schedule().check_steps("`beta`", context.steps);
}

std::vector<double> log_coefficients(const FractionalParameters& p, double confidence, std::span<const double> scores) {
  std::vector<double> logs(scores.size(), 0.0);
  for (std::size_t index = 0; index < scores.size(); ++index) {
    const double lag = static_cast<double>(index + 1);
    const double j = p.lag_origin == 1 ? lag : lag - 1;
    const double damping = p.lambda + (p.uses_trend() ? confidence * p.tau * scores[index] : 0);
    switch (p.kernel) {
      case Kernel::current:
      case Kernel::uniform:
        break;
      case Kernel::exponential:
        logs[index] = (lag - 1) * std::log(p.kernel_decay);
        break;
      case Kernel::tempered:
      case Kernel::confidence:
        logs[index] = (p.alpha - 1) * std::log(j + 1) - damping * j;
        break;
      case Kernel::grunwald:
        logs[index] = std::lgamma(j + p.alpha) - std::lgamma(p.alpha) - std::lgamma(j + 1) - damping * j;
        break;
    }
  }
  return logs;
}

std::vector<double> kernel_weights(const FractionalParameters& p, double confidence, std::span<const double> scores) {
  std::vector<double> weights = log_coefficients(p, confidence, scores);
  if (weights.empty()) return weights;
  const double largest = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - largest);
  for (double& weight : weights) weight /= total;
  return weights;
}

double inconsistency(const FractionalParameters& p, double distance, double trend_norm) {
  return distance / (std::max(trend_norm, p.kappa) + p.stability);
}

double confidence(const FractionalParameters& p, double trend_norm) { return trend_norm > 0 ? trend_norm / (trend_norm + p.zeta) : 0; }

}  // namespace fodp
