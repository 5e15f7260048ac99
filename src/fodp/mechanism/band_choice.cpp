#include "fodp/mechanism/band_choice.h"

#include <algorithm>
#include <cmath>

#include "fodp/accounting/calibrate.h"
#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr double kMostMemory = 1 << 30;  // bytes that the noise of b steps may take

// What the budget needs with so many bands; none where no noise meets it.
std::optional<double> noise_multiplier(const BandQuestion& question, std::int64_t bands) {
  const PlannedRun run{.sample_rate = std::min(1.0, static_cast<double>(bands) * question.sample_rate),
                       .steps = (question.steps + bands - 1) / bands};
  try {
    return calibrate_noise_multiplier(run, question.budget, RdpAccountant()).noise_multiplier;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::vector<std::int64_t> bands_to_try(const BandQuestion& question) {
  if (question.bands) return {*question.bands};
  std::vector<std::int64_t> all;
  for (std::int64_t bands = 2; bands <= std::min(kMostBands, question.steps); bands *= 2) {
    const double count = static_cast<double>(bands), bytes = count * static_cast<double>(question.parameters) * sizeof(double);
    if (count * question.sample_rate <= 1 && bytes <= kMostMemory) all.push_back(bands);
  }
  return all;
}

std::vector<double> orders_to_try(const BandQuestion& question) {
  if (question.order) return {*question.order};
  std::vector<double> all;
  for (int twentieths = 6; twentieths < 20; ++twentieths) all.push_back(twentieths / 20.);
  return all;
}

}  // namespace

std::vector<double> band_coefficients(std::int64_t bands, double order) {
  check_input(order > 0 && order <= 1, "order is {}: must be in (0, 1]", order);
  std::vector<double> c = {1};
  double squared = 1;
  for (std::int64_t k = 1; k < bands; ++k) {
    c.push_back(c.back() * (static_cast<double>(k) - 1 + order) / static_cast<double>(k));
    squared += c.back() * c.back();
  }
  for (double& value : c) value /= std::sqrt(squared);
  return c;
}

BandNoise band_noise(const std::vector<double>& coefficients, std::int64_t steps) {
  const std::int64_t count = std::min(steps, kLongest), bands = static_cast<std::int64_t>(coefficients.size());
  std::vector<double> inverse;  // 1/c
  double prefix = 0, sum = 0, path = 0, squared = 0;
  for (std::int64_t t = 0; t < count; ++t) {
    double value = t == 0 ? 1 : 0;
    for (std::int64_t k = 1; k < std::min(bands, t + 1); ++k) value -= coefficients[k] * inverse[t - k];
    value /= coefficients[0];
    inverse.push_back(value);
    prefix += value;
    sum += prefix * prefix;
    path += sum;
    squared += value * value;
  }
  const double all = static_cast<double>(count);
  return {.path = std::sqrt(path / (all * (all + 1) / 2)), .end = std::sqrt(sum / all), .step = std::sqrt(squared)};
}

BandChoice choose_bands(const BandQuestion& question) {
  if (question.bands && question.order) return {*question.bands, *question.order};
  BandChoice one{.bands = question.bands.value_or(1), .order = question.order.value_or(BandChoice::kUsualOrder)};
  const std::optional<double> plain = one.bands == 1 && question.bands ? std::nullopt : noise_multiplier(question, 1);
  if (!plain) return one;
  std::optional<BandChoice> best;
  for (const std::int64_t bands : bands_to_try(question)) {
    const std::optional<double> needed = noise_multiplier(question, bands);
    if (!needed) continue;
    const double more = *needed / *plain;
    for (const double order : orders_to_try(question)) {
      const BandNoise noise = band_noise(band_coefficients(bands, order), question.steps);
      const bool calm = more * noise.step <= kMostStepNoise;
      if (calm && (!best || more * noise.path < best->path)) best = {bands, order, more * noise.path};
    }
  }
  const bool worth_it = best && (question.bands || best->path <= 1 - kLeastGain);
  return worth_it ? *best : one;
}

}  // namespace fodp
