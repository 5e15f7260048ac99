#include "fodp/mechanism/spectral.h"

#include <algorithm>
#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_svdvals.h>

#include "fodp/base/check.h"
#include "fodp/mechanism/power_law.h"
#include "fodp/mechanism/release_table.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

constexpr double kStability = 1e-8;

std::vector<double> squared_singular_values(const LayerGroup& layer, std::span<const float> parameters) {
  const at::NoGradGuard no_gradients;
  const at::Tensor matrix =
      at::from_blob(const_cast<float*>(parameters.data()) + layer.matrix_offset, {layer.rows, layer.columns}, at::kFloat);
  const at::Tensor values = at::linalg_svdvals(matrix.to(at::kDouble)).square().contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

}  // namespace

SpectralMechanism::SpectralMechanism(const NoiseSchedule& schedule, const FractionalOptions& memory, const SpectralOptions& spectral,
                                     std::vector<LayerGroup> layers)
    : Mechanism(schedule),
      parameters_(resolve(memory, 1, 1)),
      spectral_(spectral),
      layers_(std::move(layers)),
      tempering_(layers_.size(), 0.0) {
  validate_fields(spectral);
  check_input(spectral.rho_min <= spectral.rho_max, "rho-min is {} and rho-max {}: the first must not be larger", spectral.rho_min,
              spectral.rho_max);
  parameters_.kernel = Kernel::tempered;
  parameters_.stability = memory.stability.value_or(kStability);
}

void SpectralMechanism::make_memories() {
  for (const LayerGroup& layer : layers_) memories_.emplace_back(parameters_.window, layer.end - layer.begin, parameters_.gamma);
}

void SpectralMechanism::on_step(std::span<const float> parameters) {
  if (!remembers() || step() % spectral_.spectral_every != 0) return;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (layers_[l].rows == 0) continue;
    // A model that diverged has no spectrum: no tempering.
    const std::span<const float> own = parameters.subspan(layers_[l].matrix_offset, layers_[l].rows * layers_[l].columns);
    const bool finite = std::ranges::all_of(own, [](float value) { return std::isfinite(value); });
    const std::optional<double> rho = finite ? power_law_exponent(squared_singular_values(layers_[l], parameters)) : std::nullopt;
    const double distance = rho ? std::max({0.0, spectral_.rho_min - *rho, *rho - spectral_.rho_max}) : 0;
    tempering_[l] = 1 - std::exp(-spectral_.spectral_tempering * distance);
  }
}

// (1-beta)*omega*Gamma*Psi*ahat_j.
std::vector<double> SpectralMechanism::lag_coefficients(std::size_t layer) const {
  const Memory& memory = memories_[layer];
  FractionalParameters kernel = parameters_;
  kernel.lambda = tempering_[layer];
  std::vector<double> weights = memory_weights(kernel, memory);
  if (weights.empty()) return weights;
  const double trend = memory.trend_norm(), blend = memory.blend_norm(weights), eps = parameters_.stability;
  const double agreement = std::max(0.0, memory.blend_with_trend(weights) / (trend * blend + eps));
  const double matching = std::min(spectral_.norm_cap, trend / (blend + eps));
  const double warm = 1 - std::exp(-static_cast<double>(step()) / spectral_.warm_up);
  for (double& weight : weights) weight *= (1 - beta()) * warm * agreement * matching;
  return weights;
}

void SpectralMechanism::begin(std::int64_t size) {
  check_input(layers_.back().end == size, "the layers have {} parameters: the sum has {}", layers_.back().end, size);
  if (remembers() && memories_.empty()) make_memories();
  past_.assign(layers_.size(), {});
  if (remembers() && beta() < 1)
    for (std::size_t l = 0; l < layers_.size(); ++l) past_[l] = lag_coefficients(l);
  memory_norms_.assign(layers_.size(), 0);
  for (std::size_t l = 0; l < layers_.size(); ++l)
    if (!past_[l].empty()) memory_norms_[l] = memories_[l].blend_norm(past_[l]);
  products_.assign((size + kNoiseBlock - 1) / kNoiseBlock, std::vector<Memory::Products>(layers_.size()));
}

void SpectralMechanism::block(const Block& block, std::span<float> released) {
  const double beta = this->beta();
  const std::span<double> values = block.values;
  const std::int64_t begin = block.begin, end = begin + static_cast<std::int64_t>(values.size());
  if (beta < 1)
    for (double& value : values) value *= beta;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const std::int64_t from = std::max(begin, layers_[l].begin), to = std::min(end, layers_[l].end);
    if (from >= to) continue;
    if (!past_[l].empty()) memories_[l].add_blend(past_[l], from - layers_[l].begin, values.subspan(from - begin, to - from));
    for (std::int64_t k = from; k < to; ++k) released[k - begin] = static_cast<float>(values[k - begin]);
    if (remembers()) products_[block.index][l] = memories_[l].insert(from - layers_[l].begin, released.subspan(from - begin, to - from));
  }
}

void SpectralMechanism::end(std::span<const float>, double) {
  if (!remembers()) return;
  released_squared_ = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Memory::Products total;
    for (const auto& of_block : products_) total.add(of_block[l]);
    released_squared_ += total.with_itself;
    memories_[l].finish(total);
  }
}

// The depth is the mean over the layers, each as often as it has parameters.
std::optional<Mechanism::InsecureParts> SpectralMechanism::insecure_parts() const {
  double depth = 0, squared = 0;
  for (std::size_t l = 0; l < past_.size(); ++l) {
    depth += effective_depth(past_[l]) * static_cast<double>(layers_[l].end - layers_[l].begin) / static_cast<double>(layers_.back().end);
    squared += memory_norms_[l] * memory_norms_[l];
  }
  return InsecureParts{.signal = NAN,
                       .memory = NAN,
                       .noise_memory = NAN,
                       .noise = NAN,
                       .memory_depth = depth,
                       .memory_ratio = squared > 0 ? std::sqrt(squared / released_squared_) : 0};
}

void SpectralMechanism::state(StateVisitor& visit) {
  Mechanism::state(visit);
  visit("tempering", tempering_);
  bool started = !memories_.empty();
  visit("started", started);
  if (started && memories_.empty()) make_memories();
  for (std::size_t l = 0; l < memories_.size(); ++l) visit.part("memory" + std::to_string(l), memories_[l]);
}

namespace {

void fill(OptionSet& options, const RunContext&) {
  auto& memory = options.of<FractionalOptions>();
  memory.beta = memory.beta_schedule();
  if (!memory.stability) memory.stability = kStability;
}

void check(const RunContext& context) {
  const auto& memory = context.options.of<FractionalOptions>();
  check_memory(context);
  check_input(memory.kernel == FractionalOptions().kernel, "`kernel` {}: `release` {} has a kernel of its own", enum_name(memory.kernel),
              context.chosen.release);
}

}  // namespace

extern const ReleaseEntry kSpectralRelease = {
    .name = "spectral",
    .summary = "the noisy sum blended with a memory for each layer that follows the layer's spectrum",
    .options = {reads<SpectralOptions>(), reads<FractionalOptions>({"beta", "alpha", "window", "gamma", "stability"})},
    .traits = {.noise_is_known = false, .by_layer = true},
    .fill = fill,
    .check = check,
    .make = [](const RunContext& context) -> std::unique_ptr<Mechanism> {
      const auto& memory = context.options.of<FractionalOptions>();
      return std::make_unique<SpectralMechanism>(noise_schedule(context, memory.beta_schedule()), memory,
                                                 context.options.of<SpectralOptions>(), context.layers);
    },
};

}  // namespace fodp
