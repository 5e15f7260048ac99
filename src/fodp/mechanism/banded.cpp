#include "fodp/mechanism/banded.h"

#include <algorithm>
#include <cmath>

#include "fodp/accounting/calibrate.h"
#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"
#include "fodp/mechanism/release_table.h"
#include "fodp/noise/lattice.h"

namespace fodp {

BandedMechanism::BandedMechanism(const NoiseSchedule& schedule, std::int64_t bands, double order)
    : GaussianMechanism(schedule), coefficients_(band_coefficients(bands, order)), ring_(bands) {
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

void BandedMechanism::begin(std::int64_t size) { past(0).resize(size); }

void BandedMechanism::end(std::span<const float>, double) {
  double response = released_ == 0 ? 1 : 0;
  for (std::size_t k = 1; k < coefficients_.size() && k <= response_.size(); ++k) response -= coefficients_[k] * response_[k - 1];
  response_.insert(response_.begin(), response / coefficients_[0]);
  if (response_.size() > coefficients_.size()) response_.pop_back();
  squared_response_ += response_.front() * response_.front();
  ++released_;
}

void BandedMechanism::state(StateVisitor& visit) {
  GaussianMechanism::state(visit);
  if (!visit.insecure()) {
    if (visit.loads()) released_ = 0, response_.clear(), squared_response_ = 0;
    return;
  }
  visit("released", released_);
  visit("response", response_);
  visit("squared_response", squared_response_);
  visit("xi", ring_);
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

namespace {

// The budget that bands are compared at. Where only the noise is given it is what DP-SGD would cost with it; none without noise, or with
// noise or rates that vary, which check() refuses.
std::optional<Budget> budget_of(const RunContext& context) {
  const NoiseTarget& target = context.target;
  if (!context.sample_rate.constant() || !target.noise_multiplier.constant()) return std::nullopt;
  if (target.epsilon > 0) return Budget{target.epsilon, target.delta};
  if (target.noise_multiplier.first() == 0) return std::nullopt;
  const PlannedRun run{.sample_rate = context.sample_rate.first(), .steps = context.steps};
  const double epsilon = RdpAccountant().epsilon(run.events(target.noise_multiplier.first()), target.delta).epsilon;
  return epsilon > 0 && std::isfinite(epsilon) ? std::optional(Budget{epsilon, target.delta}) : std::nullopt;
}

void fill(OptionSet& options, const RunContext& context) {
  auto& own = options.of<BandOptions>();
  const std::optional<Budget> budget = budget_of(context);
  BandChoice choice{own.count(), own.order.value_or(BandChoice::kUsualOrder)};
  if (budget)
    choice = choose_bands({.sample_rate = context.sample_rate.first(),
                           .steps = context.steps,
                           .parameters = context.parameters,
                           .budget = *budget,
                           .bands = own.bands,
                           .order = own.order});
  own.bands = choice.bands;
  own.order = choice.order;
}

void check(const RunContext& context) {
  const std::int64_t bands = context.options.of<BandOptions>().count();
  const double rate = static_cast<double>(bands) * context.sample_rate.first();
  check_input(!context.chosen.own_sampling && context.chosen.sums_per_step == 1,
              "`release` {}: {} asks for more than one sum of a cyclic lot a step, which its correlated noise does not cover",
              context.chosen.release, context.chosen.method);
  check_input(context.sample_rate.constant(), "`sample-rate` {}: `release` {} takes a rate that does not vary", context.sample_rate.text(),
              context.chosen.release);
  check_input(context.noise_multiplier.constant(), "`noise-multiplier` {}: `release` {} takes one that does not vary",
              context.noise_multiplier.text(), context.chosen.release);
  check_input(rate <= 1, "`bands` {}: at `sample-rate` {} each group would be sampled at rate {}; bands times rate must be at most 1",
              bands, number_text(context.sample_rate.first()), number_text(rate));
}

}  // namespace

extern const ReleaseEntry kBandedRelease = {
    .name = "banded",
    .summary = "the sum with noise that cancels over steps",
    .options = {reads<BandOptions>()},
    .fill = fill,
    .check = check,
    .make = [](const RunContext& context) -> std::unique_ptr<Mechanism> {
      const auto& own = context.options.of<BandOptions>();
      return std::make_unique<BandedMechanism>(noise_schedule(context), own.count(), own.order.value_or(BandChoice::kUsualOrder));
    },
};

}  // namespace fodp
