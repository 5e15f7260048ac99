#include "fodp/gradients/clip.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include "fodp/base/check.h"
#include "fodp/gradients/guards.h"
#include "fodp/gradients/side_by_side.h"
#include "fodp/gradients/tape.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

float rounded_towards_zero(double factor) {
  float rounded = static_cast<float>(factor);
  if (rounded > factor) rounded = std::nextafterf(rounded, 0);
  return rounded;
}

double factor_of(double norm, Clipping rule, double clip_norm) {
  if (!std::isfinite(norm)) return 0;
  constexpr double kAutomaticStability = .01;
  return rule == Clipping::automatic ? clip_norm / (norm + kAutomaticStability) : std::min(1.0, clip_norm / norm);
}

// Of a sum clipped so, from public constants alone and with the same rounding as a plan's: slack and grid of every sum are the announced
// ones to the last bit, whatever the groups' squares add up to.
double announced_sensitivity(const ClipOptions& options, double clip_norm, std::size_t layers) {
  return options.grouping() == GroupClip::each ? clip_norm * std::sqrt(static_cast<double>(layers)) : clip_norm;
}

// A row's part of a scalar, on its lattice.
std::int64_t scalar_units(double value, double grid) { return static_cast<std::int64_t>(std::trunc(value / grid)); }

// f(block) for every block that has rows, by all threads, taken one by one since they differ in cost.
template <class F>
void for_each_block(const Blocks& blocks, const F& f) {
  std::atomic<std::size_t> next = 0;
  at::parallel_for(0, std::min<std::int64_t>(at::get_num_threads(), blocks.size()), 1, [&](std::int64_t, std::int64_t) {
    at::Tensor workspace;
    for (std::size_t b = next++; b < blocks.size(); b = next++)
      if (!blocks[b].empty()) f(b, workspace);
  });
}

}  // namespace

double ClippedSum::sensitivity() const {
  double squared = 0;
  for (const ClipGroup& group : groups_) squared += group.clip_norm * group.clip_norm;
  return std::sqrt(squared);
}

float clip_factor(double norm, const ClipOptions& options) {
  return rounded_towards_zero(factor_of(norm, options.rule(), options.clip_norm));
}

void ClipDiagnostics::merge(const ClipDiagnostics& other) {
  rows += other.rows;
  clipped += other.clipped;
  not_finite += other.not_finite;
  loss_sum += other.loss_sum;
  norm_sum += other.norm_sum;
  largest_norm = std::max(largest_norm, other.largest_norm);
}

// One sum, as all its blocks need it.
struct Clipper::Job {
  const Gather& gather;
  const ClipRequest& request;
  double clip_norm;
  std::vector<ClipGroup> groups;
  std::int64_t at_once;
  bool insecure = false;
  bool norms_only = false;
};

// What a block adds besides its part of the vector.
struct Clipper::Part {
  std::int64_t count_units = 0, norm_units = 0;
  ClipDiagnostics insecure;

  void merge(const Part& other) {
    count_units += other.count_units;
    norm_units += other.norm_units;
    insecure.merge(other.insecure);
  }
};

Clipper::Clipper(const torch::nn::Module& model, FlatParameters& parameters, RowLosses losses, const ClipOptions& options,
                 std::int64_t block_rows)
    : model_(model), parameters_(parameters), losses_(std::move(losses)), options_(options), block_rows_(block_rows) {
  validate_fields(options);
  check_input(block_rows >= 1, "a block has at most {} rows: must be at least 1", block_rows);
  check_model(model);
  slack_ = sensitivity_slack(announced_sensitivity(options, options.clip_norm, parameters.layers().size()), parameters.size(), block_rows);
}

std::vector<ClipGroup> Clipper::groups(double clip_norm) const {
  if (options_.grouping() == GroupClip::whole) return {{0, parameters_.size(), clip_norm}};
  std::vector<ClipGroup> groups;
  const double share = options_.grouping() == GroupClip::shared ? std::sqrt(static_cast<double>(parameters_.layers().size())) : 1;
  for (const LayerGroup& layer : parameters_.layers()) groups.push_back({layer.begin, layer.end, clip_norm / share});
  return groups;
}

void Clipper::check_rows(const Blocks& blocks) const {
  parameters_.check_views();
  check_model(model_);  // it may have been put into training mode since
  std::int64_t last = -1;
  for (const auto& block : blocks)
    for (std::int64_t row : block) {
      check_privacy(row > last, "the rows of a lot must ascend: one that comes twice would count twice");
      last = row;
    }
}

ClippedSum Clipper::clipped_sum(const Blocks& blocks, const Draw& draw, const Gather& gather, const ClipRequest& request,
                                ClipDiagnostics* insecure) const {
  check_rows(blocks);
  const Untouched untouched(model_);
  const SideBySide side_by_side;
  const double clip_norm = request.clip_norm.value_or(options_.clip_norm);
  const Job job{gather, request, clip_norm, groups(clip_norm), rows_at_once(blocks, gather), insecure != nullptr};
  check_privacy(!request.importance || job.groups.size() == 1, "importance sampling bounds whole gradients, not those of layers");
  ClippedSum total;
  total.lattice_.assign(parameters_.size(), 0);
  total.groups_ = job.groups;
  if (request.importance) total.groups_[0].clip_norm = request.importance->length;
  total.draw_ = draw;
  const double sensitivity =
      request.importance ? request.importance->length : announced_sensitivity(options_, clip_norm, parameters_.layers().size());
  total.grid_ = lattice_grid(sensitivity, parameters_.size());
  total.slack_ = sensitivity_slack(sensitivity, parameters_.size(), block_rows_);

  std::mutex mutex;
  Part sums;
  // Integer addition makes the order of blocks irrelevant.
  for_each_block(blocks, [&](std::size_t b, at::Tensor& sum) {
    if (!sum.defined()) sum = at::empty({parameters_.size()}, at::kFloat);
    const Part part = part_of_block(blocks[b], job, sum);
    const std::lock_guard lock(mutex);
    add_to_lattice({sum.data_ptr<float>(), static_cast<std::size_t>(sum.numel())}, total.grid_, total.lattice_);
    sums.merge(part);
  });
  untouched.check();
  if (request.count_noise) {
    total.scalars_ = {{"count", .5, *request.count_noise}};
    total.scalar_lattice_ = {sums.count_units};
  }
  if (insecure) *insecure = sums.insecure;
  return total;
}

ClippedSum Clipper::norm_total(const Blocks& blocks, const Draw& draw, const Gather& gather, double noise_multiplier) const {
  check_rows(blocks);
  const Untouched untouched(model_);
  const SideBySide side_by_side;
  const ClipRequest request;
  check_privacy(groups(options_.clip_norm).size() == 1, "the total of norms is of whole gradients, not those of layers");
  const Job job{gather,
                request,
                options_.clip_norm,
                {{0, parameters_.size(), options_.clip_norm}},
                rows_at_once(blocks, gather),
                /*insecure=*/false,
                /*norms_only=*/true};
  std::mutex mutex;
  Part sums;
  for_each_block(blocks, [&](std::size_t b, at::Tensor& unused) {
    const Part part = part_of_block(blocks[b], job, unused);
    const std::lock_guard lock(mutex);
    sums.merge(part);
  });
  untouched.check();
  ClippedSum total;
  total.draw_ = draw;
  total.scalars_ = {{"norm_total", options_.clip_norm, noise_multiplier}};
  total.scalar_lattice_ = {sums.norm_units};
  return total;
}

ClippedSum Clipper::loss_change(const Blocks& blocks, const Draw& draw, const Gather& gather, std::span<const float> before, double lot,
                                double bound, double noise_multiplier) const {
  check_rows(blocks);
  check_input(before.size() == parameters_.values().size(), "{} parameters given: the model has {}", before.size(), parameters_.size());
  const double after_sum = loss_sum(blocks, gather);
  const std::vector<float> now(parameters_.values().begin(), parameters_.values().end());
  std::ranges::copy(before, parameters_.values().begin());
  double before_sum = 0;
  try {
    before_sum = loss_sum(blocks, gather);
  } catch (...) {
    std::ranges::copy(now, parameters_.values().begin());
    throw;
  }
  std::ranges::copy(now, parameters_.values().begin());
  const double change = (after_sum - before_sum) / lot;
  ClippedSum total;
  total.draw_ = draw;
  total.scalars_ = {{"loss_change", 2 * bound, noise_multiplier}};
  // A loss that is not finite counts as a change for the worse.
  total.scalar_lattice_ = {scalar_units(std::isnan(change) ? bound : std::clamp(change, -bound, bound), scalar_grid(2 * bound))};
  return total;
}

double Clipper::loss_sum(const Blocks& blocks, const Gather& gather) const {
  const Untouched untouched(model_);
  const SideBySide side_by_side;
  std::vector<double> sums(blocks.size(), 0.0);
  for_each_block(blocks, [&](std::size_t b, at::Tensor&) {
    const at::NoGradGuard no_gradients;
    const Batch batch = gather(blocks[b]);
    const at::Tensor losses = losses_(batch.inputs, batch.targets).to(at::kDouble);
    check_privacy(losses.dim() == 1 && losses.size(0) == static_cast<std::int64_t>(blocks[b].size()),
                  "the loss must be one number per row of the batch");
    sums[b] = losses.sum().item<double>();
  });
  untouched.check();
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

// The tape of a batch, with each row's loss and, by group, squared gradient norm (that of clipping, and the true one).
struct Clipper::Recorded {
  Tape tape;
  at::Tensor losses;
  std::vector<std::vector<double>> clipped_by, squared_norms;  // [group][row]
  std::vector<std::size_t> group_of_record;
  std::int64_t elements = 0;  // held at once, where that was measured
};

Clipper::Recorded Clipper::record(const Batch& batch, bool measure) const {
  const std::int64_t rows = batch.inputs.size(0);
  Recorded out;
  const Tape::Recording recording(out.tape);
  {
    const at::AutoGradMode with_gradients(true);
    out.losses = losses_(batch.inputs, batch.targets);
    check_privacy(out.losses.dim() == 1 && out.losses.size(0) == rows && out.losses.scalar_type() == at::kFloat,
                  "the loss must be one float32 number per row of the batch");
    check_privacy(out.losses.requires_grad(), "the loss depends on no trainable parameter: was it computed under no_grad or detached?");
    check_graph(out.losses, parameters_, measure ? &out.elements : nullptr);
    out.tape.clear();  // of gradients that the loss itself asked for
    const auto ordinary = torch::autograd::grad({out.losses}, parameters_.tensors(), {at::ones_like(out.losses)}, /*retain_graph=*/false,
                                                /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < ordinary.size(); ++i)
      check_privacy(!ordinary[i].defined(),
                    "parameter '{}' received an ordinary gradient, which is not clipped per example: use it only inside its fodp::nn layer",
                    parameters_.slices()[i].name);
  }
  out.tape.check_covers(parameters_, rows);
  out.elements += out.tape.elements();
  const at::NoGradGuard no_gradients;
  const std::vector<ClipGroup> all = groups(options_.clip_norm);
  out.squared_norms.assign(all.size(), std::vector<double>(rows, 0.0));
  out.clipped_by.assign(all.size(), std::vector<double>(rows, 0.0));
  for (const auto& record : out.tape.records()) {
    const std::int64_t offset = parameters_.offset_of(record->parameters().front());
    const auto found = std::ranges::find_if(all, [&](const ClipGroup& group) { return offset < group.end; });
    const std::size_t group = out.group_of_record.emplace_back(found - all.begin());
    record->add_squared_norms(out.squared_norms[group], out.clipped_by[group]);
  }
  for (std::size_t group = 0; group < all.size(); ++group)
    for (std::int64_t i = 0; i < rows; ++i) {
      double& by = out.clipped_by[group][i];
      const double least = by / (kMostCancelled * kMostCancelled), norm = out.squared_norms[group][i];
      by = least > norm || std::isnan(least) ? least : norm;
    }
  return out;
}

Clipper::InsecureRows Clipper::insecure_rows(const Batch& batch) const {
  const Recorded recorded = record(batch);
  const at::NoGradGuard no_gradients;
  const std::int64_t rows = recorded.losses.size(0);
  const float* losses = recorded.losses.data_ptr<float>();
  at::Tensor gradients = at::empty({rows, parameters_.size()}, at::kFloat);
  for (std::int64_t row = 0; row < rows; ++row) {
    at::Tensor alone = at::zeros({rows}, at::kFloat);
    alone[row] = 1;
    for (const auto& record : recorded.tape.records()) record->write_weighted_sum(alone, parameters_, gradients[row]);
  }
  std::vector<double> squared_norms(rows, 0.0);
  for (const auto& of_group : recorded.squared_norms)
    for (std::int64_t row = 0; row < rows; ++row) squared_norms[row] += of_group[row];
  return {{losses, losses + rows}, squared_norms, gradients};
}

// From the shapes of the first row there is, so that it is the same for every block, lot and number of threads.
std::int64_t Clipper::rows_at_once(const Blocks& blocks, const Gather& gather) const {
  const auto block = std::ranges::find_if(blocks, [](const auto& rows) { return !rows.empty(); });
  if (block == blocks.end()) return block_rows_;
  if (rows_at_once_ == 0) {
    const std::int64_t of_one = record(gather(std::span(*block).first(1)), /*measure=*/true).elements;
    rows_at_once_ = std::clamp<std::int64_t>(kHeldElements / std::max<std::int64_t>(1, of_one), 1, block_rows_);
  }
  return rows_at_once_;
}

Clipper::Part Clipper::part_of_block(std::span<const std::int64_t> rows, const Job& job, const at::Tensor& sum) const {
  check_privacy(static_cast<std::int64_t>(rows.size()) <= block_rows_, "a block has more rows than the {} that its slack was charged for",
                block_rows_);
  const std::size_t step = static_cast<std::size_t>(job.at_once);
  Part part = part_of_rows(rows.first(std::min(step, rows.size())), job, sum);
  at::Tensor more;
  for (std::size_t begin = step; begin < rows.size(); begin += step) {
    if (sum.defined() && !more.defined()) more = at::empty_like(sum);
    part.merge(part_of_rows(rows.subspan(begin, std::min(step, rows.size() - begin)), job, more));
    if (sum.defined()) sum.add_(more);
  }
  return part;
}

Clipper::Part Clipper::part_of_rows(std::span<const std::int64_t> rows, const Job& job, const at::Tensor& sum) const {
  const std::int64_t count = static_cast<std::int64_t>(rows.size());
  const Batch batch = job.gather(rows);
  check_privacy(batch.inputs.dim() >= 1 && batch.inputs.size(0) == count, "the inputs gathered for a block must have its rows");
  const Recorded recorded = record(batch);
  const at::NoGradGuard no_gradients;
  const double groups = static_cast<double>(job.groups.size());
  const double count_grid = scalar_grid(.5), norm_grid = scalar_grid(job.clip_norm);
  std::vector<std::vector<float>> factors(job.groups.size(), std::vector<float>(count, 0.0f));
  std::vector<std::int64_t> cleared;
  Part part;
  for (std::int64_t i = 0; i < count; ++i) {
    double squared = 0, unclipped = 0;
    for (std::size_t g = 0; g < job.groups.size(); ++g) {
      const double norm = std::sqrt(recorded.clipped_by[g][i]), clip_norm = job.groups[g].clip_norm;
      factors[g][i] = rounded_towards_zero(factor_of(norm, options_.rule(), clip_norm));
      unclipped += norm <= clip_norm;
      squared += recorded.clipped_by[g][i];
    }
    const double norm = std::sqrt(squared);
    const double bounded = std::isfinite(norm) ? factors[0][i] * norm : 0;  // where there is one group
    part.count_units += scalar_units(unclipped / groups - .5, count_grid);
    if (job.norms_only) part.norm_units += scalar_units(bounded, norm_grid);
    if (const auto& importance = job.request.importance) {
      const bool kept = importance->chance(rows[i]) < bounded / job.clip_norm;
      factors[0][i] = kept ? rounded_towards_zero(importance->length / norm) : 0;
    }
    if (!std::isfinite(norm)) {
      cleared.push_back(i);
      for (auto& of_group : factors) of_group[i] = 0;
    }
    if (job.insecure)
      part.insecure.merge({.rows = 1,
                           .clipped = unclipped < groups,
                           .not_finite = !std::isfinite(norm),
                           .loss_sum = recorded.losses.data_ptr<float>()[i],
                           .norm_sum = std::isfinite(norm) ? norm : 0,
                           .largest_norm = std::isfinite(norm) ? norm : 0});
  }
  if (job.norms_only) return part;
  if (!cleared.empty()) {
    const at::Tensor where = at::from_blob(cleared.data(), {static_cast<std::int64_t>(cleared.size())}, at::kLong);
    for (const auto& record : recorded.tape.records()) record->clear_rows(where);
  }
  for (std::size_t r = 0; r < recorded.tape.records().size(); ++r) {
    const at::Tensor weights = at::from_blob(factors[recorded.group_of_record[r]].data(), {count}, at::kFloat);
    recorded.tape.records()[r]->write_weighted_sum(weights, parameters_, sum);
  }
  return part;
}

}  // namespace fodp
