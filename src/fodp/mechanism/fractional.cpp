#include "fodp/mechanism/fractional.h"

#include <algorithm>

#include <ATen/Parallel.h>

#include "fodp/base/check.h"

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

void FractionalMechanism::transform(const NoisedSum& noised, std::span<float> released) {
  const bool products = parameters_.uses_trend() || parameters_.denoise != Denoise::none;
  if (remembers() && !memory_)
    memory_.emplace(parameters_.window, noised.size(), products ? std::optional(parameters_.gamma) : std::nullopt);
  const double beta = this->beta();
  // With beta 1 nothing of the memory enters, not even zero times it: DP-SGD bit for bit.
  const std::vector<double> past = beta < 1 ? lag_coefficients() : std::vector<double>();

  const std::int64_t blocks = NoisedSum::blocks(noised.size());
  std::vector<Memory::Products> sums(blocks);
  if (insecure_)
    parts_ = {std::vector<double>(noised.size()), std::vector<double>(noised.size()), std::vector<double>(noised.size()),
              std::vector<double>(noised.size())};

  at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> sum, blend, noise;
    for (std::int64_t b = first; b < last; ++b) {
      const std::int64_t begin = noised.block(b, sum, insecure_ ? &noise : nullptr);
      blend.assign(sum.size(), 0.0);
      for (std::size_t j = 1; j <= past.size(); ++j) {
        const float* release = memory_->at_lag(j).data() + begin;
        for (std::size_t i = 0; i < blend.size(); ++i) blend[i] += past[j - 1] * release[i];
      }
      const std::span<float> out = released.subspan(begin, sum.size());
      if (beta < 1) {
        for (std::size_t i = 0; i < sum.size(); ++i) out[i] = static_cast<float>(beta * sum[i] + blend[i]);
      } else {
        for (std::size_t i = 0; i < sum.size(); ++i) out[i] = static_cast<float>(sum[i]);
      }
      if (insecure_) decompose(begin, sum, noise, past);
      if (memory_) sums[b] = memory_->insert(begin, out);
    }
  });
  if (!memory_) return;
  Memory::Products total;
  for (const Memory::Products& part : sums) total.add(part);
  memory_->finish(total);
  if (covariance_) covariance_->add(beta, noised.scale() * noised.scale(), past);
  if (insecure_) remember_parts(released);
}

void FractionalMechanism::keep_insecure_decomposition() {
  check_input(!memory_, "the decomposition must be kept from the first release on");
  insecure_ = true;
}

void FractionalMechanism::decompose(std::int64_t begin, const std::vector<double>& sum, const std::vector<double>& noise,
                                    const std::vector<double>& past) {
  const double beta = this->beta();
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::size_t k = begin + i;
    parts_.signal[k] = beta * (sum[i] - noise[i]);
    parts_.noise[k] = beta * noise[i];
    for (std::size_t j = 0; j < past.size(); ++j) {
      parts_.memory[k] += past[j] * past_queries_[j][k];
      parts_.noise_memory[k] += past[j] * past_noise_[j][k];
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

}  // namespace fodp
