#include "fodp/gradients/clip.h"

#include <atomic>
#include <cmath>
#include <mutex>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include "fodp/base/check.h"
#include "fodp/gradients/tape.h"
#include "fodp/noise/lattice.h"

namespace fodp {

double ClippedSum::sensitivity() const {
  double squared = 0;
  for (const ClipGroup& group : groups_) squared += group.clip_norm * group.clip_norm;
  return std::sqrt(squared);
}

float clip_factor(double norm, const ClipOptions& options) {
  if (!std::isfinite(norm)) return 0;
  constexpr double kAutomaticStability = .01;
  const double factor =
      options.clipping == Clipping::flat ? std::min(1.0, options.clip_norm / norm) : options.clip_norm / (norm + kAutomaticStability);
  float rounded = static_cast<float>(factor);
  if (rounded > factor) rounded = std::nextafterf(rounded, 0);
  return rounded;
}

void ClipDiagnostics::merge(const ClipDiagnostics& other) {
  rows += other.rows;
  clipped += other.clipped;
  not_finite += other.not_finite;
  loss_sum += other.loss_sum;
  norm_sum += other.norm_sum;
  largest_norm = std::max(largest_norm, other.largest_norm);
}

Clipper::Clipper(const torch::nn::Module& model, FlatParameters& parameters, RowLosses losses, const ClipOptions& options,
                 std::int64_t block_rows)
    : parameters_(parameters),
      losses_(std::move(losses)),
      options_(options),
      block_rows_(block_rows),
      grid_(lattice_grid(options.clip_norm, parameters.size())),
      slack_(sensitivity_slack(options.clip_norm, parameters.size(), block_rows)) {
  validate_fields(options);
  check_input(block_rows >= 1, "a block has at most {} rows: must be at least 1", block_rows);
  check_model(model);
}

ClippedSum Clipper::clipped_sum(const Blocks& blocks, double sample_rate, const Gather& gather, ClipDiagnostics* insecure) const {
  parameters_.check_views();
  std::int64_t last = -1;
  for (const auto& block : blocks)
    for (std::int64_t row : block) {
      check_privacy(row > last, "the rows of a lot must ascend: one that comes twice would count twice");
      last = row;
    }
  ClippedSum total;
  total.lattice_.assign(parameters_.size(), 0);
  total.groups_ = {{0, parameters_.size(), options_.clip_norm}};
  total.sample_rate_ = sample_rate;
  total.grid_ = grid_;
  total.slack_ = slack_;

  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  // Blocks are taken one by one, since they differ in cost; integer addition makes the order irrelevant.
  at::parallel_for(0, std::min<std::int64_t>(at::get_num_threads(), blocks.size()), 1, [&](std::int64_t, std::int64_t) {
    at::Tensor sum;
    for (std::size_t b = next++; b < blocks.size(); b = next++) {
      if (blocks[b].empty()) continue;
      if (!sum.defined()) sum = at::empty({parameters_.size()}, at::kFloat);
      ClipDiagnostics of_block;
      add_block(blocks[b], gather, sum, insecure ? &of_block : nullptr);
      const std::lock_guard lock(mutex);
      add_to_lattice({sum.data_ptr<float>(), static_cast<std::size_t>(sum.numel())}, grid_, total.lattice_);
      if (insecure) insecure->merge(of_block);
    }
  });
  return total;
}

void Clipper::add_block(std::span<const std::int64_t> rows, const Gather& gather, const at::Tensor& sum, ClipDiagnostics* insecure) const {
  const std::int64_t count = static_cast<std::int64_t>(rows.size());
  check_privacy(count <= block_rows_, "a block has more rows than the {} that its slack was charged for", block_rows_);
  const Batch batch = gather(rows);

  at::AutoGradMode with_gradients(true);
  Tape tape;
  const Tape::Recording recording(tape);
  const at::Tensor losses = losses_(batch.inputs, batch.targets);
  check_privacy(losses.dim() == 1 && losses.size(0) == count, "the loss must be one number per row of the batch");
  torch::autograd::backward({losses}, {at::ones_like(losses)});
  tape.check_covers(parameters_);

  at::NoGradGuard no_gradients;
  std::vector<double> squared(count, 0.0);
  for (const auto& record : tape.records()) record->add_squared_norms(squared);

  std::vector<float> factors(count, 0.0f);
  std::vector<std::int64_t> cleared;
  for (std::int64_t i = 0; i < count; ++i) {
    const double norm = std::sqrt(squared[i]);
    if (!std::isfinite(norm)) cleared.push_back(i);
    factors[i] = clip_factor(norm, options_);
    if (insecure) {
      const double loss = losses.data_ptr<float>()[i];
      insecure->merge({.rows = 1,
                       .clipped = norm > options_.clip_norm,
                       .not_finite = !std::isfinite(norm),
                       .loss_sum = loss,
                       .norm_sum = std::isfinite(norm) ? norm : 0,
                       .largest_norm = std::isfinite(norm) ? norm : 0});
    }
  }
  if (!cleared.empty()) {
    const at::Tensor where = at::from_blob(cleared.data(), {static_cast<std::int64_t>(cleared.size())}, at::kLong);
    for (const auto& record : tape.records()) record->clear_rows(where);
  }
  const at::Tensor weights = at::from_blob(factors.data(), {count}, at::kFloat);
  for (const auto& record : tape.records()) record->write_weighted_sum(weights, parameters_, sum);
}

void check_examples_do_not_mix(const std::function<at::Tensor(const at::Tensor&)>& forward, std::vector<std::int64_t> shape) {
  constexpr std::int64_t kRows = 4;
  at::NoGradGuard no_gradients;
  shape.insert(shape.begin(), kRows);
  const at::Tensor inputs = at::randn(shape);
  const at::Tensor before = forward(inputs);
  check_privacy(before.dim() >= 1 && before.size(0) == kRows, "the model gives {} outputs for {} rows: one each is needed",
                before.dim() ? before.size(0) : 0, kRows);
  for (std::int64_t changed = 0; changed < kRows; ++changed) {
    at::Tensor altered = inputs.clone();
    altered.select(0, changed).mul_(-3).add_(1);
    const at::Tensor after = forward(altered);
    for (std::int64_t row = 0; row < kRows; ++row)
      check_privacy(
          row == changed || after.select(0, row).allclose(before.select(0, row), 1e-5, 1e-6),
          "the model mixes examples: changing row {} of a batch changes the output of row {}, so no gradient belongs to one example; "
          "remove what works across the batch dimension",
          changed, row);
  }
}

}  // namespace fodp
