#include "fodp/gradients/clip.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include "fodp/base/check.h"
#include "fodp/base/phases.h"
#include "fodp/gradients/guards.h"
#include "fodp/gradients/row_by_row.h"
#include "fodp/gradients/tape.h"
#include "fodp/gradients/workers.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

// Never above the factor, so that the product is never too long.
float rounded_towards_zero(double factor) {
  float rounded = static_cast<float>(factor);
  if (rounded > factor) rounded = std::nextafterf(rounded, 0);
  return rounded;
}

// A row's part of a number, on its lattice. What is not a number counts as 0.
std::int64_t scalar_units(double value, double bound, double grid) {
  return std::isnan(value) ? 0 : static_cast<std::int64_t>(std::trunc(std::clamp(value, -bound, bound) / grid));
}

}  // namespace

double relative_sensitivity(GroupClip grouping, std::size_t layers) {
  return grouping == GroupClip::each ? std::sqrt(static_cast<double>(layers)) : 1;
}

void ClipDiagnostics::merge(const ClipDiagnostics& other) {
  rows += other.rows;
  clipped += other.clipped;
  loss_sum += other.loss_sum;
  norm_sum += other.norm_sum;
  largest_norm = std::max(largest_norm, other.largest_norm);
}

// What a query says of one row of the training data: 0 or false if it throws, as for a row that throws in the model.
template <class F>
auto in_query(const F& f) {
  try {
    return f();
  } catch (...) {
    pass_on_refusals();
    return decltype(f()){};
  }
}

// One sum, as all its blocks need it.
struct Clipper::Job {
  const ClipRows& rows;
  const Query& query;
  std::vector<Number> numbers;
  std::vector<ClipGroup> groups;
  double clip_norm;
  std::int64_t at_once = 1;
  bool insecure = false;
  Losses losses_before;  // empty if they are not asked for

  double number_grid(std::size_t k) const { return scalar_grid(numbers[k].of_total ? 2 * numbers[k].bound : numbers[k].bound); }
};

// What rows add besides their part of the vector.
struct Clipper::Answers {
  explicit Answers(const Job& job) : units(job.numbers.size(), 0), totals(job.numbers.size(), 0.0) {}

  std::vector<std::int64_t> units;  // of the numbers that are bounded by row
  std::vector<double> totals;       // of those that are bounded as a whole
  ClipDiagnostics insecure;

  void add(const Job& job, const RowFacts& row) {
    for (std::size_t k = 0; k < units.size(); ++k) {
      const double part = in_query([&] { return job.query.part(k, row); });
      if (job.numbers[k].of_total)
        totals[k] += part;
      else
        units[k] += scalar_units(part, job.numbers[k].bound, job.number_grid(k));
    }
  }
  void merge(const Answers& other) {
    for (std::size_t k = 0; k < units.size(); ++k) units[k] += other.units[k], totals[k] += other.totals[k];
    insecure.merge(other.insecure);
  }
};

Clipper::Clipper(const torch::nn::Module& model, FlatParameters& parameters, RowLosses losses, const ClipRule& rule, GroupClip grouping,
                 std::int64_t block_rows)
    : model_(model), parameters_(parameters), losses_(std::move(losses)), rule_(rule), grouping_(grouping), block_rows_(block_rows) {
  check_input(rule.clip_norm() > 0 && std::isfinite(rule.clip_norm()), "clip-norm is {}: must be above 0", rule.clip_norm());
  check_input(block_rows >= 1, "a block has at most {} rows: must be at least 1", block_rows);
  check_model(model);
}

// Slack and grid of every sum are the announced ones to the last bit, whatever the groups' squares add up to: they follow from the clip
// norm as a plan's do.
double Clipper::slack() const {
  return sensitivity_slack(rule_.clip_norm() * relative_sensitivity(grouping_, parameters_.layers().size()), parameters_.size(),
                           block_rows_);
}

std::vector<ClipGroup> Clipper::groups(double clip_norm) const {
  if (grouping_ == GroupClip::whole) return {{0, parameters_.size(), clip_norm}};
  std::vector<ClipGroup> groups;
  const double share = grouping_ == GroupClip::shared ? std::sqrt(static_cast<double>(parameters_.layers().size())) : 1;
  for (const LayerGroup& layer : parameters_.layers()) groups.push_back({layer.begin, layer.end, clip_norm / share});
  return groups;
}

void Clipper::check_rows(const Blocks& blocks) const {
  parameters_.check_views();
  check_model(model_);  // it may have been put into training mode since
  std::int64_t last = -1;
  for (const auto& block : blocks) {
    check_privacy(static_cast<std::int64_t>(block.size()) <= block_rows_,
                  "a block has more rows than the {} that its slack was charged for", block_rows_);
    for (std::int64_t row : block) {
      check_privacy(row > last, "the rows of a lot must ascend: one that comes twice would count twice");
      last = row;
    }
  }
}

ClippedSum Clipper::clipped_sum(const ClipRows& rows, const Query& query, ClipDiagnostics* insecure) const {
  check_rows(rows.blocks);
  const double clip_norm = rule_.clip_norm();
  Job job{rows, query, query.numbers(), groups(clip_norm), clip_norm, 1, insecure != nullptr, {}};
  const bool of_layers = query.depth() == Query::Depth::losses || (query.depth() == Query::Depth::gradients && !query.length());
  check_privacy(job.groups.size() == 1 || of_layers, "this query is of whole gradients, not of those of layers");
  check_privacy(!query.draws_coins() || rows.coin, "this query draws a coin for each row: none are given");
  if (!query.before().empty()) job.losses_before = losses_at(query.before(), rows);

  ClippedRows total{.draw = rows.draw};
  Answers answers(job);
  if (query.depth() == Query::Depth::gradients) {
    total.groups = job.groups;
    if (query.length()) total.groups[0].clip_norm = *query.length();
    const double sensitivity = query.length().value_or(clip_norm * relative_sensitivity(grouping_, parameters_.layers().size()));
    total.lattice.assign(parameters_.size(), 0);
    total.grid = lattice_grid(sensitivity, parameters_.size());
    total.slack = sensitivity_slack(sensitivity, parameters_.size(), block_rows_);
  }
  sum_blocks(job, total, answers);
  for (std::size_t k = 0; k < job.numbers.size(); ++k) {
    const Number& number = job.numbers[k];
    total.scalars.push_back({number.name, number.of_total ? 2 * number.bound : number.bound, number.noise_multiplier});
    const double whole = answers.totals[k] / number.divisor;  // what is not a number counts as the largest change
    total.scalar_lattice.push_back(
        number.of_total ? scalar_units(std::isnan(whole) ? number.bound : whole, number.bound, job.number_grid(k)) : answers.units[k]);
  }
  if (insecure) *insecure = answers.insecure;
  return ClippedSum::vouching_that_rows_are_clipped(std::move(total));
}

// Numbers that are bounded as a whole are added in the order of the blocks; all else is added as integers, in any order.
void Clipper::sum_blocks(const Job& job, ClippedRows& total, Answers& answers) const {
  if (job.query.depth() == Query::Depth::losses) {
    const auto losses = losses_of(job.rows);
    for (std::size_t b = 0; b < losses.size(); ++b)
      for (std::size_t i = 0; i < losses[b].size(); ++i) {
        const std::optional<double> before = job.losses_before.empty() ? 0 : job.losses_before[b][i];
        if (losses[b][i] && before)
          answers.add(
              job,
              {.loss = *losses[b][i], .loss_before = *before, .coin = job.query.draws_coins() ? job.rows.coin(job.rows.blocks[b][i]) : 0});
      }
    return;
  }
  const Untouched untouched(model_);
  Job sized = job;
  sized.at_once = rows_at_once(job.rows);
  std::vector<Answers> by_block(job.rows.blocks.size(), Answers(job));
  std::mutex mutex;
  for_each_block(job.rows.blocks, [&](std::size_t b, at::Tensor& sum) {
    if (!sum.defined() && !total.lattice.empty()) sum = at::empty({parameters_.size()}, at::kFloat);
    by_block[b] = part_of_block(b, sized, sum);
    const InPhase within(Phase::sum);
    const std::lock_guard lock(mutex);
    if (sum.defined()) add_to_lattice({sum.data_ptr<float>(), static_cast<std::size_t>(sum.numel())}, total.grid, total.lattice);
  });
  untouched.check();
  for (const Answers& part : by_block) answers.merge(part);
}

// The losses of every row at other parameters; then the present ones are back.
Clipper::Losses Clipper::losses_at(std::span<const float> point, const ClipRows& rows) const {
  const std::span<float> values = parameters_.values();
  check_input(point.size() == values.size(), "{} parameters given: the model has {}", point.size(), values.size());
  const std::vector<float> now(values.begin(), values.end());
  std::ranges::copy(point, values.begin());
  try {
    auto losses = losses_of(rows);
    std::ranges::copy(now, values.begin());
    return losses;
  } catch (...) {
    std::ranges::copy(now, values.begin());
    throw;
  }
}

Clipper::Losses Clipper::losses_of(const ClipRows& rows) const {
  const Untouched untouched(model_);
  Losses losses(rows.blocks.size());
  for_each_block(rows.blocks, [&](std::size_t b, at::Tensor&) {
    const at::NoGradGuard no_gradients;
    const std::vector<std::int64_t>& block = rows.blocks[b];
    const auto of_rows = of_training_rows("computing the loss of training rows", rows.gather, block, [&](const Batch& batch) {
      const at::Tensor of_batch = losses_(batch.inputs, batch.targets).to(at::kDouble).contiguous();
      check_privacy(of_batch.dim() == 1 && of_batch.size(0) == batch.inputs.rows(), "the loss must be one number per row of the batch");
      return of_batch;
    });
    losses[b].resize(block.size());
    if (of_rows.result) std::copy_n(of_rows.result->data_ptr<double>(), block.size(), losses[b].begin());
    for (const std::int64_t row : of_rows.thrown) losses[b][row].reset();
  });
  untouched.check();
  return losses;
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
  const std::int64_t rows = batch.inputs.rows();
  Recorded out;
  const Tape::Recording recording(out.tape);
  {
    const at::AutoGradMode with_gradients(true);
    out.losses = in_phase(Phase::forward, [&] { return losses_(batch.inputs, batch.targets); });
    check_privacy(out.losses.dim() == 1 && out.losses.size(0) == rows && out.losses.scalar_type() == at::kFloat,
                  "the loss must be one float32 number per row of the batch");
    check_privacy(out.losses.requires_grad(), "the loss depends on no trainable parameter: was it computed under no_grad or detached?");
    check_graph(out.losses, parameters_, measure ? &out.elements : nullptr);
    out.tape.clear();  // of gradients that the loss itself asked for
    const InPhase backward(Phase::backward);
    const auto ordinary = torch::autograd::grad({out.losses}, parameters_.tensors(), {at::ones_like(out.losses)}, /*retain_graph=*/false,
                                                /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < ordinary.size(); ++i)
      check_privacy(!ordinary[i].defined(),
                    "parameter '{}' received an ordinary gradient, which is not clipped per example: use it only inside its fodp::nn layer",
                    parameters_.slices()[i].name);
    out.losses = out.losses.detach().contiguous();  // a user's loss may be a column of something, or one number expanded
  }
  const InPhase norms(Phase::norms);
  out.tape.check_covers(parameters_, rows);
  out.elements += out.tape.elements();
  const at::NoGradGuard no_gradients;
  const std::vector<ClipGroup> all = groups(rule_.clip_norm());
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

OfRows<Clipper::Recorded> Clipper::record_training_rows(const ClipRows& from, std::span<const std::int64_t> rows, bool measure) const {
  return of_training_rows("computing the gradients of training rows", from.gather, rows,
                          [&](const Batch& batch) { return record(batch, measure); });
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

// From the shapes of the first row that does not throw, so that it is the same for every block, lot and number of threads.
std::int64_t Clipper::rows_at_once(const ClipRows& rows) const {
  for (const auto& block : rows.blocks)
    for (std::size_t i = 0; rows_at_once_ == 0 && i < block.size(); ++i)
      if (const auto one = record_training_rows(rows, std::span(block).subspan(i, 1), /*measure=*/true).result)
        rows_at_once_ = std::clamp<std::int64_t>(kHeldElements / std::max<std::int64_t>(1, one->elements), 1, block_rows_);
  return rows_at_once_ == 0 ? block_rows_ : rows_at_once_;
}

Clipper::Answers Clipper::part_of_block(std::size_t block, const Job& job, const at::Tensor& sum) const {
  const std::span<const std::int64_t> rows = job.rows.blocks[block];
  const auto before = job.losses_before.empty() ? std::span<const std::optional<double>>() : std::span(job.losses_before[block]);
  Answers answers(job);
  at::Tensor more;
  for (std::size_t begin = 0; begin < rows.size(); begin += static_cast<std::size_t>(job.at_once)) {
    const std::size_t count = std::min(static_cast<std::size_t>(job.at_once), rows.size() - begin);
    if (begin > 0 && sum.defined() && !more.defined()) more = at::empty_like(sum);
    answers.merge(
        part_of_rows(rows.subspan(begin, count), before.empty() ? before : before.subspan(begin, count), job, begin == 0 ? sum : more));
    if (begin > 0 && sum.defined()) sum.add_(more);
  }
  return answers;
}

// What each row counts with in every clip group, and what it answers besides.
struct Clipper::Weighed {
  std::vector<std::vector<float>> factors;  // [group][row]
  std::vector<std::int64_t> cleared;        // rows that threw or whose gradient is not finite
  Answers answers;
};

Clipper::Weighed Clipper::weigh(const OfRows<Recorded>& of_rows, std::span<const std::int64_t> rows,
                                std::span<const std::optional<double>> losses_before, const Job& job) const {
  const Recorded& recorded = *of_rows.result;
  const double groups = static_cast<double>(job.groups.size());
  const std::optional<double> length = job.query.length();
  Weighed out{std::vector<std::vector<float>>(job.groups.size(), std::vector<float>(rows.size(), 0.0f)), {}, Answers(job)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<double> before = losses_before.empty() ? 0 : losses_before[i];
    if (!before || std::ranges::binary_search(of_rows.thrown, static_cast<std::int64_t>(i))) {
      out.cleared.push_back(static_cast<std::int64_t>(i));
      continue;
    }
    double squared = 0, unclipped = 0;
    for (std::size_t g = 0; g < job.groups.size(); ++g) {
      const double norm = std::sqrt(recorded.clipped_by[g][i]), clip_norm = job.groups[g].clip_norm;
      out.factors[g][i] = std::isfinite(norm) ? rounded_towards_zero(rule_.factor(norm, clip_norm)) : 0;
      unclipped += norm <= clip_norm;
      squared += recorded.clipped_by[g][i];
    }
    const double norm = std::sqrt(squared);
    const bool finite = std::isfinite(norm);
    const RowFacts row{.norm = norm,
                       .bounded = finite ? out.factors[0][i] * norm : 0,  // queries that look at it have one group
                       .unclipped = unclipped / groups,
                       .loss = recorded.losses.data_ptr<float>()[i],
                       .loss_before = *before,
                       .coin = job.query.draws_coins() ? job.rows.coin(rows[i]) : 0};
    out.answers.add(job, row);
    if (length) out.factors[0][i] = norm > 0 && in_query([&] { return job.query.keeps(row); }) ? rounded_towards_zero(*length / norm) : 0;
    if (!finite) {
      out.cleared.push_back(static_cast<std::int64_t>(i));
      for (auto& of_group : out.factors) of_group[i] = 0;
    }
    if (job.insecure) out.answers.insecure.merge({1, unclipped < groups, row.loss, finite ? norm : 0, finite ? norm : 0});
  }
  return out;
}

Clipper::Answers Clipper::part_of_rows(std::span<const std::int64_t> rows, std::span<const std::optional<double>> losses_before,
                                       const Job& job, const at::Tensor& sum) const {
  const OfRows<Recorded> of_rows = record_training_rows(job.rows, rows);
  const at::NoGradGuard no_gradients;
  if (!of_rows.result) {
    if (sum.defined()) sum.zero_();
    return Answers(job);
  }
  const Recorded& recorded = *of_rows.result;
  Weighed weighed = weigh(of_rows, rows, losses_before, job);
  if (!sum.defined()) return weighed.answers;
  if (!weighed.cleared.empty()) {
    const at::Tensor where = at::from_blob(weighed.cleared.data(), {static_cast<std::int64_t>(weighed.cleared.size())}, at::kLong);
    for (const auto& record : recorded.tape.records()) record->clear_rows(where);
  }
  const InPhase within(Phase::sum);
  for (std::size_t r = 0; r < recorded.tape.records().size(); ++r) {
    std::vector<float>& factors = weighed.factors[recorded.group_of_record[r]];
    const at::Tensor weights = at::from_blob(factors.data(), {static_cast<std::int64_t>(factors.size())}, at::kFloat);
    recorded.tape.records()[r]->write_weighted_sum(weights, parameters_, sum);
  }
  return weighed.answers;
}

}  // namespace fodp
