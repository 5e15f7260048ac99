#include "fodp/mechanism/fractional.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"
#include "fodp/base/wide_loops.h"
#include "fodp/mechanism/release_table.h"
#include "fodp/noise/lattice.h"

namespace fodp {

FractionalMechanism::FractionalMechanism(double noise_multiplier, const FractionalParameters& parameters)
    : FractionalMechanism(NoiseSchedule{.noise_multiplier = noise_multiplier, .beta = parameters.beta}, parameters) {}

FractionalMechanism::FractionalMechanism(const NoiseSchedule& schedule, const FractionalParameters& parameters)
    : Mechanism(schedule), parameters_(parameters) {
  if (parameters_.denoise != Denoise::none) keep_noise_variance();
}

void FractionalMechanism::keep_noise_variance() {
  check_input(!memory_, "the noise must be kept account of from the first release on");
  if (remembers()) covariance_.emplace(parameters_.window);
}

std::optional<double> FractionalMechanism::noise_variance(double scale) const {
  if (!remembers()) return scale * scale;
  return covariance_ ? std::optional(covariance_->newest()) : std::nullopt;
}

// (1-beta)*ahat_{t,j}, shrunk where that is asked for.
std::vector<double> FractionalMechanism::lag_coefficients() const {
  std::vector<double> coefficients = memory_weights(parameters_, *memory_);
  double share = 1 - beta();
  if (parameters_.denoise == Denoise::shrink && !coefficients.empty()) {
    const double norm = memory_->blend_norm(coefficients), size = static_cast<double>(memory_->size());
    share *= norm > 0 ? std::max(0.0, 1 - size * covariance_->of_blend(coefficients) / (norm * norm)) : 0;
  }
  for (double& coefficient : coefficients) coefficient *= share;
  return coefficients;
}

void FractionalMechanism::make_memory(std::int64_t size) {
  const bool products = parameters_.uses_trend() || parameters_.denoise != Denoise::none;
  memory_.emplace(parameters_.window, size, products ? std::optional(parameters_.gamma) : std::nullopt);
}

void FractionalMechanism::begin(std::int64_t size) {
  if (remembers() && !memory_) make_memory(size);
  // With beta 1 nothing of the memory enters, not even zero times it: DP-SGD bit for bit.
  past_ = beta() < 1 ? lag_coefficients() : std::vector<double>();
  products_.assign((size + kNoiseBlock - 1) / kNoiseBlock, {});
  if (insecure_) parts_ = {std::vector<double>(size), std::vector<double>(size), std::vector<double>(size), std::vector<double>(size)};
}

void FractionalMechanism::block(const Block& block, std::span<float> released) {
  if (insecure_) decompose(block);
  if (beta() < 1) {
    multiply(beta(), block.values);
    if (!past_.empty()) memory_->add_blend(past_, block.begin, block.values);
  }
  round_to_float(block.values, released);
  if (memory_) products_[block.index] = memory_->insert(block.begin, released);
}

void FractionalMechanism::end(std::span<const float> released, double scale) {
  if (!memory_) return;
  Memory::Products total;
  for (const Memory::Products& part : products_) total.add(part);
  memory_->finish(total);
  if (covariance_) covariance_->add(beta(), scale * scale, past_);
  if (insecure_) remember_parts(released);
}

void FractionalMechanism::state(StateVisitor& visit) {
  Mechanism::state(visit);
  std::int64_t size = memory_ ? memory_->size() : 0;
  visit("memory_size", size);
  if (size > 0 && !memory_) make_memory(size);
  if (memory_) visit.part("memory", *memory_);
  if (covariance_) visit.part("covariance", *covariance_);
  if (insecure_ && memory_) {  // such a run is not private
    visit("past_queries", past_queries_);
    visit("past_noise", past_noise_);
  }
}

void FractionalMechanism::keep_insecure_parts() {
  check_input(!memory_, "the decomposition must be kept from the first release on");
  insecure_ = true;
}

std::optional<Mechanism::InsecureParts> FractionalMechanism::insecure_parts() const {
  const auto norm = [](const std::vector<double>& values) {
    double squared = 0;
    for (double value : values) squared += value * value;
    return std::sqrt(squared);
  };
  double memory = 0, whole = 0;
  for (std::size_t k = 0; k < parts_.signal.size(); ++k) {
    const double remembered = parts_.memory[k] + parts_.noise_memory[k], released = remembered + parts_.signal[k] + parts_.noise[k];
    memory += remembered * remembered;
    whole += released * released;
  }
  return InsecureParts{.signal = norm(parts_.signal),
                       .memory = norm(parts_.memory),
                       .noise_memory = norm(parts_.noise_memory),
                       .noise = norm(parts_.noise),
                       .memory_depth = effective_depth(past_),
                       .memory_ratio = std::sqrt(memory / whole)};
}

void FractionalMechanism::decompose(const Block& block) {
  const double beta = this->beta();
  for (std::size_t i = 0; i < block.values.size(); ++i) {
    const std::size_t k = block.begin + i;
    parts_.signal[k] = beta * (block.values[i] - block.insecure_noise[i]);
    parts_.noise[k] = beta * block.insecure_noise[i];
    for (std::size_t j = 0; j < past_.size(); ++j) {
      parts_.memory[k] += past_[j] * past_queries_[j][k];
      parts_.noise_memory[k] += past_[j] * past_noise_[j][k];
    }
  }
}

void FractionalMechanism::remember_parts(std::span<const float> released) {
  std::vector<double> query(released.size());
  for (std::size_t k = 0; k < released.size(); ++k) query[k] = released[k] - parts_.noise[k];  // r_t = S_t - Z_t
  past_queries_.insert(past_queries_.begin(), std::move(query));
  past_noise_.insert(past_noise_.begin(), parts_.noise);
  past_queries_.resize(std::min<std::size_t>(past_queries_.size(), parameters_.window - 1));
  past_noise_.resize(past_queries_.size());
}

extern const ReleaseEntry kFractionalRelease = {
    .name = "fractional",
    .summary = "the noisy sum blended with a fractional memory of past releases",
    .options = {reads<FractionalOptions>()},
    .fill = fill_memory,
    .check = check_memory,
    .make = [](const RunContext& context) -> std::unique_ptr<Mechanism> {
      const auto& memory = context.options.of<FractionalOptions>();
      auto mechanism = std::make_unique<FractionalMechanism>(noise_schedule(context, memory.beta_schedule()),
                                                             resolve(memory, context.clip_norm, context.noise_norm()));
      if (context.chosen.needs_noise_variance) mechanism->keep_noise_variance();
      return mechanism;
    },
};

}  // namespace fodp
