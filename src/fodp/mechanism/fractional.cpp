#include "fodp/mechanism/fractional.h"

#include <ATen/Parallel.h>

#include "fodp/base/check.h"

namespace fodp {

FractionalMechanism::FractionalMechanism(double noise_multiplier, const FractionalParameters& parameters)
    : noise_multiplier_(noise_multiplier), parameters_(parameters) {
  check_input(noise_multiplier >= 0, "noise multiplier is {}: must be at least 0", noise_multiplier);
}

void FractionalMechanism::transform(const NoisedSum& noised, std::span<float> released) {
  const double beta = parameters_.beta;
  if (beta < 1 && !memory_) memory_.emplace(parameters_, noised.size());
  // With beta 1 nothing of the memory enters, not even zero times it: DP-SGD bit for bit.
  const std::vector<double> weights = beta < 1 ? memory_->weights() : std::vector<double>();

  const std::int64_t blocks = NoisedSum::blocks(noised.size());
  std::vector<Memory::Products> products(blocks);
  if (insecure_)
    parts_ = {std::vector<double>(noised.size()), std::vector<double>(noised.size()), std::vector<double>(noised.size()),
              std::vector<double>(noised.size())};

  at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> sum, blend, noise;
    for (std::int64_t b = first; b < last; ++b) {
      const std::int64_t begin = noised.block(b, sum, insecure_ ? &noise : nullptr);
      blend.assign(sum.size(), 0.0);
      for (std::size_t j = 1; j <= weights.size(); ++j) {
        const float* past = memory_->at_lag(j).data() + begin;
        for (std::size_t i = 0; i < blend.size(); ++i) blend[i] += weights[j - 1] * past[i];
      }
      const std::span<float> out = released.subspan(begin, sum.size());
      if (beta < 1) {
        for (std::size_t i = 0; i < sum.size(); ++i) out[i] = static_cast<float>(beta * sum[i] + (1 - beta) * blend[i]);
      } else {
        for (std::size_t i = 0; i < sum.size(); ++i) out[i] = static_cast<float>(sum[i]);
      }
      if (insecure_) decompose(begin, sum, noise, weights);
      if (beta < 1) products[b] = memory_->insert(begin, out);
    }
  });
  if (beta == 1) return;
  Memory::Products total;
  for (const Memory::Products& part : products) total.add(part);
  memory_->finish(total);
  if (insecure_) remember_parts(released);
}

void FractionalMechanism::keep_insecure_decomposition() {
  check_input(!memory_, "the decomposition must be kept from the first release on");
  insecure_ = true;
}

void FractionalMechanism::decompose(std::int64_t begin, const std::vector<double>& sum, const std::vector<double>& noise,
                                    const std::vector<double>& weights) {
  const double beta = parameters_.beta;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::size_t k = begin + i;
    parts_.signal[k] = beta * (sum[i] - noise[i]);
    parts_.noise[k] = beta * noise[i];
    for (std::size_t j = 0; j < weights.size(); ++j) {
      parts_.memory[k] += (1 - beta) * weights[j] * past_queries_[j][k];
      parts_.noise_memory[k] += (1 - beta) * weights[j] * past_noise_[j][k];
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
