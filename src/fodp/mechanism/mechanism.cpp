#include "fodp/mechanism/mechanism.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fodp/base/check.h"
#include "fodp/base/phases.h"
#include "fodp/base/wide.h"
#include "fodp/noise/lattice.h"

namespace fodp {

bool Release::has_scalar(std::string_view name) const {
  return std::ranges::any_of(scalars_, [&](const Scalar& scalar) { return scalar.name == name; });
}

double Release::scalar(std::string_view name) const {
  for (const Scalar& scalar : scalars_)
    if (scalar.name == name) return scalar.value;
  throw InputError(fmt::format("release {} has no number '{}'", number_, name));
}

double NoiseSchedule::effective(std::int64_t step) const { return noise_multiplier.at(step, steps) / (beta.at(step, steps) * sensitivity); }

double NoiseSchedule::largest_effective() const { return noise_multiplier.largest() / (beta.least() * sensitivity); }

double NoiseSchedule::lot_scale(std::int64_t step) const { return sample_rate.first() / sample_rate.at(step, steps); }

NoiseSchedule noise_schedule(const RunContext& context, Schedule beta) {
  return {.noise_multiplier = context.noise_multiplier,
          .beta = std::move(beta),
          .steps = context.steps,
          .sample_rate = context.sample_rate,
          .sensitivity = context.sensitivity};
}

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

Event Mechanism::event(std::int64_t step, double sample_rate, double slack) const {
  return Event::poisson_gaussian(sample_rate, schedule_.effective(step), slack);
}

void Mechanism::check_charge(const ClippedSum& sum, const Charge& charge, const RandomStream& noise) const {
  const Event needed = event(sum), paid = charge.event();
  check_privacy(paid.covers(needed),
                "the charge (rate {}, noise multiplier {}) is for less than this release costs (rate {}, noise multiplier {})",
                paid.sample_rate, paid.charged_multiplier(), needed.sample_rate, needed.charged_multiplier());
  check_privacy(noise.purpose() == Purpose::noise, "a release draws its noise from a stream for noise, not one for another purpose");
  const Draw& draw = sum.draw();
  check_privacy(draw.cycle() == cycle(), "the rows come from a cycle of {} groups: this mechanism's noise needs one of {}", draw.cycle(),
                cycle());
  check_privacy(charge.releases() <= draw.queries() * cycle(), "the charge is for {} releases: {} sums are made of these rows",
                charge.releases(), draw.queries() * cycle());
  check_turn(draw);
  check_privacy(sum.size() == 0 || size_ == 0 || sum.size() == size_, "a sum of {} values: this mechanism has released sums of {}",
                sum.size(), size_);
}

Mechanism::Opening Mechanism::open(ClippedSum sum, Charge& charge, const RandomStream& noise) {
  check_privacy(!open_, "a release of this mechanism is open: close it before the next one is opened");
  check_charge(sum, charge, noise);
  const double share = event(sum).noise_multiplier * std::sqrt(static_cast<double>(sum.draw().queries()));
  double scale = 0;
  if (sum.size() > 0) {
    scale = vector_multiplier(share, sum.scalars()) * sum.sensitivity();
  } else {
    double cost = 0;
    for (const BoundedScalar& scalar : sum.scalars()) cost += 1 / (scalar.noise_multiplier * scalar.noise_multiplier);
    check_privacy(share == 0 || cost <= (1 + 1e-12) / (share * share),
                  "the numbers of this release are noised less than it is charged for");
  }
  check_privacy(noise.claim(charge.ledger()),
                "this noise belongs to another ledger: both number their releases from 0, so that two releases would have the same noise; "
                "make a RunKey for each ledger, and its stream of noise from that key");
  if (sum.size() > 0) size_ = sum.size();
  const std::uint64_t number = charge.spend(sum.draw().ticket());
  return Opening(*this, std::move(sum), noise, number, scale, share > 0);
}

Release Mechanism::release(ClippedSum sum, Charge& charge, const RandomStream& noise, const ParallelFor& parallel) {
  Opening opening = open(std::move(sum), charge, noise);
  parallel(opening.blocks(), [&](std::int64_t first, std::int64_t last) { opening.run(first, last); });
  return opening.close();
}

Mechanism::Opening::Opening(Mechanism& mechanism, ClippedSum sum, const RandomStream& noise, std::uint64_t number, double scale,
                            bool noised)
    : mechanism_(mechanism),
      sum_(std::move(sum)),
      noise_(noise),
      number_(number),
      scale_(scale),
      lot_scale_(mechanism.schedule_.lot_scale(mechanism.step_)),
      noised_(noised),
      values_(std::make_shared<std::vector<float>>(sum_.size())),
      noised_sum_(mechanism.keeps_noised_sums_ ? std::make_shared<std::vector<double>>(sum_.size()) : nullptr),
      done_(blocks()) {
  if (sum_.size() > 0) mechanism_.begin(sum_.size());
  mechanism_.open_ = true;
}

Mechanism::Opening::~Opening() { mechanism_.open_ = false; }

std::int64_t Mechanism::Opening::blocks() const { return (sum_.size() + kNoiseBlock - 1) / kNoiseBlock; }

namespace {

FODP_WIDE void add_on_lattice(const std::int64_t* sum, const std::int64_t* noise, double unit, double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<double>(sum[i] + noise[i]) * unit;
}

}  // namespace

void Mechanism::Opening::run(std::int64_t first, std::int64_t last) {
  check_privacy(values_ != nullptr, "this release was closed already");
  check_input(first >= 0 && last <= blocks(), "blocks [{}, {}) of a release: it has {}", first, last, blocks());
  std::vector<std::int64_t> drawn;
  std::vector<double> values, insecure;
  const double unit = sum_.grid() * lot_scale_;  // what a step of the grid is worth in the values
  for (std::int64_t index = first; index < last; ++index) {
    check_privacy(!done_[index].exchange(true), "block {} of a release was run already: its noise would be used twice", index);
    const std::int64_t begin = index * kNoiseBlock, count = std::min(kNoiseBlock, sum_.size() - begin);
    drawn.resize(count);
    values.resize(count);
    const std::int64_t* sum = sum_.rows_.lattice.data() + begin;
    {
      const InPhase in_phase(Phase::noise);
      mechanism_.draw_noise(noise_, number_, static_cast<std::uint32_t>(index), scale_, sum_.grid(), drawn);
      add_on_lattice(sum, drawn.data(), unit, values.data(), count);
    }
    if (noised_sum_) add_on_lattice(sum, drawn.data(), sum_.grid(), noised_sum_->data() + begin, count);
    if (mechanism_.insecure_noise()) {
      insecure.resize(count);
      for (std::int64_t i = 0; i < count; ++i) insecure[i] = static_cast<double>(drawn[i]) * unit;
    }
    const InPhase in_phase(Phase::memory);
    mechanism_.block({index, begin, values, insecure}, std::span(*values_).subspan(begin, count));
  }
}

Release Mechanism::Opening::close() {
  check_privacy(values_ != nullptr, "this release was closed already");
  check_privacy(std::ranges::all_of(done_, [](const std::atomic<bool>& done) { return done.load(); }),
                "a release was closed before all of its blocks were run");
  const double scale = scale_ * lot_scale_;
  if (sum_.size() > 0) mechanism_.end(*values_, scale);
  std::vector<Release::Scalar> scalars = mechanism_.release_scalars(*this);
  mechanism_.next_turn_ = sum_.draw().turn() + 1;
  return Release(std::move(values_), std::move(scalars), sum_.size() > 0 ? mechanism_.noise_variance(scale) : std::nullopt, number_,
                 std::move(noised_sum_));
}

// Noise correlated over a cycle covers a record that is in one of any `cycle` releases in a row: each group once, in turn.
void Mechanism::check_turn(const Draw& draw) const {
  if (cycle() == 1) return;
  check_privacy(draw.queries() == 1, "{} sums are made of these rows: correlated noise covers one of each lot", draw.queries());
  check_privacy(
      !next_turn_ || draw.turn() == *next_turn_,
      "this lot was drawn for turn {}, the next release is turn {}: with correlated noise every lot must be released once, in the "
      "order of the turns",
      draw.turn(), next_turn_.value_or(draw.turn()));
}

// Their noise is of the last blocks of the release's part of the stream: no vector is long enough to use them.
std::vector<Release::Scalar> Mechanism::release_scalars(const Opening& opening) const {
  std::vector<Release::Scalar> released;
  for (std::size_t k = 0; k < opening.sum_.scalars().size(); ++k) {
    const BoundedScalar& scalar = opening.sum_.scalars()[k];
    const double grid = scalar_grid(scalar.sensitivity), scale = opening.noised_ ? scalar.noise_multiplier * scalar.sensitivity : 0;
    std::int64_t drawn = 0;
    const auto block = static_cast<std::uint32_t>(std::numeric_limits<std::uint32_t>::max() - k);
    draw_lattice_noise(opening.noise_, opening.number_, block, scale, grid, {&drawn, 1});
    released.push_back({scalar.name, static_cast<double>(opening.sum_.rows_.scalar_lattice[k] + drawn) * grid});
  }
  return released;
}

void Mechanism::draw_noise(const RandomStream& stream, std::uint64_t number, std::uint32_t block, double scale, double grid,
                           std::span<std::int64_t> noise) {
  draw_lattice_noise(stream, number, block, scale, grid, noise);
}

void Mechanism::state(StateVisitor& visit) {
  visit("step", step_);
  visit("size", size_);
  bool turned = next_turn_.has_value();
  std::uint64_t next = next_turn_.value_or(0);
  visit("turned", turned);
  visit("next_turn", next);
  next_turn_ = turned ? std::optional(next) : std::nullopt;
}

}  // namespace fodp
