#include "fodp/mechanism/banded.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"
#include "fodp/noise/lattice.h"

namespace fodp {

std::vector<double> band_coefficients(std::int64_t bands) {
  std::vector<double> c = {1};
  for (std::int64_t k = 1; k < bands; ++k) c.push_back(c.back() * (2 * static_cast<double>(k) - 1) / (2 * static_cast<double>(k)));
  double squared = 0;
  for (double value : c) squared += value * value;
  for (double& value : c) value /= std::sqrt(squared);
  return c;
}

BandedMechanism::BandedMechanism(const NoiseSchedule& schedule, std::int64_t bands)
    : GaussianMechanism(schedule), coefficients_(band_coefficients(bands)), ring_(bands) {
  check_input(schedule.noise_multiplier.constant(), "noise multiplier is {}: correlated noise takes one that does not vary",
              schedule.noise_multiplier.text());
}

BandedMechanism::~BandedMechanism() {
  for (std::vector<double>& xi : ring_) {
    volatile double* values = xi.data();
    for (std::size_t i = 0; i < xi.size(); ++i) values[i] = 0;
  }
}

std::vector<double>& BandedMechanism::past(std::int64_t lag) { return ring_[(released_ + cycle() - lag) % cycle()]; }

void BandedMechanism::transform(const NoisedSum& noised, std::span<float> released) {
  past(0).resize(noised.size());
  GaussianMechanism::transform(noised, released);
  double response = released_ == 0 ? 1 : 0;
  for (std::size_t k = 1; k < coefficients_.size() && k <= response_.size(); ++k) response -= coefficients_[k] * response_[k - 1];
  response_.insert(response_.begin(), response / coefficients_[0]);
  if (response_.size() > coefficients_.size()) response_.pop_back();
  squared_response_ += response_.front() * response_.front();
  ++released_;
}

std::optional<double> BandedMechanism::noise_variance(double scale) const { return scale * scale * squared_response_; }

void BandedMechanism::draw_noise(const RandomStream& stream, std::uint64_t number, std::uint32_t block, double scale, double grid,
                                 std::span<std::int64_t> noise) {
  if (scale == 0) return std::fill(noise.begin(), noise.end(), 0);
  const std::span<double> xi = std::span(past(0)).subspan(static_cast<std::size_t>(block) * kNoiseBlock, noise.size());
  draw_normals(stream, number, block, xi);
  for (std::int64_t k = 1; k < std::min(cycle(), released_ + 1); ++k) {
    const double* earlier = past(k).data() + static_cast<std::size_t>(block) * kNoiseBlock;
    for (std::size_t i = 0; i < xi.size(); ++i) xi[i] -= coefficients_[k] * earlier[i];
  }
  for (double& value : xi) value /= coefficients_[0];
  round_to_lattice(xi, scale, grid, noise);
}

}  // namespace fodp
