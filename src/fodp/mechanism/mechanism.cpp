#include "fodp/mechanism/mechanism.h"

#include "fodp/base/check.h"
#include "fodp/noise/lattice.h"

namespace fodp {

Event Mechanism::event(double sample_rate, double slack) const {
  return Event::poisson_gaussian(sample_rate, effective_noise_multiplier(), slack);
}

Release Mechanism::release(ClippedSum sum, Charge charge, const RandomStream& noise) {
  const Event needed = event(sum), paid = charge.event();
  check_privacy(paid.kind == needed.kind && paid.sample_rate >= needed.sample_rate &&
                    paid.charged_multiplier() <= needed.charged_multiplier() && paid.slack >= needed.slack,
                "the charge (rate {}, noise multiplier {}) is for less than this release costs (rate {}, noise multiplier {})",
                paid.sample_rate, paid.charged_multiplier(), needed.sample_rate, needed.charged_multiplier());
  check_privacy(noise.purpose() == Purpose::noise, "a release draws its noise from a stream for noise, not one for another purpose");
  charge.spend();
  const double scale = needed.noise_multiplier * sum.sensitivity();
  const NoisedSum noised(sum.lattice_, sum.grid(), scale, noise, charge.number());
  auto values = std::make_shared<std::vector<float>>(sum.size());
  transform(noised, *values);
  return Release(std::move(values), charge.number());
}

std::int64_t Mechanism::NoisedSum::blocks(std::int64_t size) { return (size + kNoiseBlock - 1) / kNoiseBlock; }

std::int64_t Mechanism::NoisedSum::block(std::int64_t index, std::vector<double>& values, std::vector<double>* insecure_noise) const {
  const std::int64_t begin = index * kNoiseBlock;
  const std::int64_t count = std::min(kNoiseBlock, size() - begin);
  std::vector<std::int64_t> drawn(count);
  draw_lattice_noise(noise_, number_, static_cast<std::uint32_t>(index), scale_, grid_, drawn);
  values.resize(count);
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<double>(lattice_[begin + i] + drawn[i]) * grid_;
  if (insecure_noise) {
    insecure_noise->resize(count);
    for (std::int64_t i = 0; i < count; ++i) (*insecure_noise)[i] = static_cast<double>(drawn[i]) * grid_;
  }
  return begin;
}

}  // namespace fodp
