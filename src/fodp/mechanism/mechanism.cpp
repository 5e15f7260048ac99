#include "fodp/mechanism/mechanism.h"

#include <cmath>
#include <limits>

#include "fodp/base/check.h"
#include "fodp/noise/lattice.h"

namespace fodp {

bool Release::has_scalar(std::string_view name) const {
  for (const Scalar& scalar : scalars_)
    if (scalar.name == name) return true;
  return false;
}

double Release::scalar(std::string_view name) const {
  for (const Scalar& scalar : scalars_)
    if (scalar.name == name) return scalar.value;
  throw InputError(fmt::format("release {} has no number '{}'", number_, name));
}

double NoiseSchedule::effective(std::int64_t step) const { return noise_multiplier.at(step, steps) / (beta.at(step, steps) * sensitivity); }

double NoiseSchedule::lot_scale(std::int64_t step) const { return sample_rate.first() / sample_rate.at(step, steps); }

double vector_multiplier(double z, std::span<const BoundedScalar> scalars) {
  if (z == 0) return 0;
  double left = 1 / (z * z);
  for (const BoundedScalar& scalar : scalars) left -= 1 / (scalar.noise_multiplier * scalar.noise_multiplier);
  check_input(left > 0,
              "the noise on '{}' ({} times its sensitivity) leaves nothing of the noise multiplier {} for the gradient: give it more noise",
              scalars.empty() ? "" : scalars.front().name, scalars.empty() ? 0 : scalars.front().noise_multiplier, z);
  return scalars.empty() ? z : 1 / std::sqrt(left);
}

Mechanism::Mechanism(NoiseSchedule schedule) : schedule_(std::move(schedule)) {
  check_input(schedule_.noise_multiplier.least() >= 0, "noise multiplier is {}: must be at least 0", schedule_.noise_multiplier.least());
  check_input(schedule_.beta.least() > 0 && schedule_.beta.largest() <= 1, "beta is {}: must be in (0, 1]", schedule_.beta.text());
}

void Mechanism::begin_step(std::int64_t step, std::span<const float> parameters) {
  step_ = step;
  on_step(parameters);
}

Event Mechanism::event(double sample_rate, double slack) const {
  return Event::poisson_gaussian(sample_rate, effective_noise_multiplier(), slack);
}

Release Mechanism::release(ClippedSum sum, Charge& charge, const RandomStream& noise) {
  const Event needed = event(sum), paid = charge.event();
  check_privacy(paid.kind == needed.kind && paid.sample_rate >= needed.sample_rate &&
                    paid.charged_multiplier() <= needed.charged_multiplier() && paid.slack >= needed.slack,
                "the charge (rate {}, noise multiplier {}) is for less than this release costs (rate {}, noise multiplier {})",
                paid.sample_rate, paid.charged_multiplier(), needed.sample_rate, needed.charged_multiplier());
  check_privacy(noise.purpose() == Purpose::noise, "a release draws its noise from a stream for noise, not one for another purpose");
  const Draw& draw = sum.draw();
  check_privacy(draw.cycle == cycle(), "the rows come from a cycle of {} groups: this mechanism's noise needs one of {}", draw.cycle,
                cycle());
  check_privacy(charge.releases() <= draw.queries * cycle(), "the charge is for {} releases: {} sums are made of these rows",
                charge.releases(), draw.queries * cycle());
  check_turn(draw);
  check_privacy(sum.size() == 0 || size_ == 0 || sum.size() == size_, "a sum of {} values: this mechanism has released sums of {}",
                sum.size(), size_);
  if (sum.size() > 0) size_ = sum.size();
  const double share = needed.noise_multiplier * std::sqrt(static_cast<double>(draw.queries));
  double scale = 0;
  if (sum.size() > 0) {
    scale = vector_multiplier(share, sum.scalars()) * sum.sensitivity();
  } else {
    double cost = 0;
    for (const BoundedScalar& scalar : sum.scalars()) cost += 1 / (scalar.noise_multiplier * scalar.noise_multiplier);
    check_privacy(share == 0 || cost <= (1 + 1e-12) / (share * share),
                  "the numbers of this release are noised less than it is charged for");
  }
  const std::uint64_t number = charge.spend(draw.ticket);
  const NoisedSum noised(*this, sum.lattice_, sum.grid(), scale, schedule_.lot_scale(step_), noise, number);
  auto values = std::make_shared<std::vector<float>>(sum.size());
  if (sum.size() > 0) transform(noised, *values);
  std::vector<Release::Scalar> scalars = release_scalars(sum, share > 0, number, noise);
  next_turn_ = draw.turn + 1;
  return Release(std::move(values), std::move(scalars), sum.size() > 0 ? noise_variance(noised.scale()) : std::nullopt, number);
}

// Noise correlated over a cycle covers a record that is in one of any `cycle` releases in a row: each group once, in turn.
void Mechanism::check_turn(const Draw& draw) const {
  if (cycle() == 1) return;
  check_privacy(draw.queries == 1, "{} sums are made of these rows: correlated noise covers one of each lot", draw.queries);
  check_privacy(
      !next_turn_ || draw.turn == *next_turn_,
      "this lot was drawn for turn {}, the next release is turn {}: with correlated noise every lot must be released once, in the "
      "order of the turns",
      draw.turn, next_turn_.value_or(draw.turn));
}

// The last blocks of the release's part of the stream: no vector is long enough to use them.
std::vector<Release::Scalar> Mechanism::release_scalars(const ClippedSum& sum, bool noised, std::uint64_t number,
                                                        const RandomStream& noise) const {
  std::vector<Release::Scalar> released;
  for (std::size_t k = 0; k < sum.scalars().size(); ++k) {
    const BoundedScalar& scalar = sum.scalars()[k];
    const double grid = scalar_grid(scalar.sensitivity), scale = noised ? scalar.noise_multiplier * scalar.sensitivity : 0;
    std::int64_t drawn = 0;
    const auto block = static_cast<std::uint32_t>(std::numeric_limits<std::uint32_t>::max() - k);
    draw_lattice_noise(noise, number, block, scale, grid, {&drawn, 1});
    released.push_back({scalar.name, static_cast<double>(sum.scalar_lattice_[k] + drawn) * grid});
  }
  return released;
}

void Mechanism::draw_noise(const RandomStream& stream, std::uint64_t number, std::uint32_t block, double scale, double grid,
                           std::span<std::int64_t> noise) {
  draw_lattice_noise(stream, number, block, scale, grid, noise);
}

std::int64_t Mechanism::NoisedSum::blocks(std::int64_t size) { return (size + kNoiseBlock - 1) / kNoiseBlock; }

std::int64_t Mechanism::NoisedSum::block(std::int64_t index, std::vector<double>& values, std::vector<double>* insecure_noise) const {
  const std::int64_t begin = index * kNoiseBlock;
  const std::int64_t count = std::min(kNoiseBlock, size() - begin);
  std::vector<std::int64_t> drawn(count);
  mechanism_.draw_noise(noise_, number_, static_cast<std::uint32_t>(index), noise_scale_, grid_, drawn);
  values.resize(count);
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<double>(lattice_[begin + i] + drawn[i]) * unit_;
  if (insecure_noise) {
    insecure_noise->resize(count);
    for (std::int64_t i = 0; i < count; ++i) (*insecure_noise)[i] = static_cast<double>(drawn[i]) * unit_;
  }
  return begin;
}

}  // namespace fodp
