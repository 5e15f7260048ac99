#include "fodp/gradients/clip.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <unordered_set>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/gradients/side_by_side.h"
#include "fodp/gradients/tape.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

// The forward and backward of private rows must leave nothing behind but the tape: no parameter, frozen or not, and no buffer changes.
class Untouched {
 public:
  explicit Untouched(const torch::nn::Module& model) {
    for (const auto& item : model.named_parameters()) watched_.push_back({item.key(), item.value(), state_of(item.value())});
    for (const auto& item : model.named_buffers()) watched_.push_back({item.key(), item.value(), state_of(item.value())});
  }

  void check() const {
    for (const Watched& watched : watched_)
      check_privacy(
          state_of(watched.tensor) == watched.state,
          "'{}' was changed by the forward pass: it would carry training data without noise into the model; put its layer into eval "
          "mode or remove it, and start from a fresh copy of the model",
          watched.name);
  }

 private:
  using State = std::pair<const void*, std::uint32_t>;  // where it is, and how often it was written to
  struct Watched {
    std::string name;
    at::Tensor tensor;
    State state;
  };

  static State state_of(const at::Tensor& tensor) { return {tensor.data_ptr(), tensor._version()}; }

  std::vector<Watched> watched_;
};

// Walks back from the loss to what it is computed from: nothing trainable may be met but the parameters. With `elements`, counts the
// numbers that the forward pass made.
void check_graph(const at::Tensor& losses, const FlatParameters& parameters, std::int64_t* elements) {
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open = {losses.grad_fn().get()};
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node)) {
      check_privacy(
          parameters.offset_of(leaf->variable) >= 0,
          "the loss depends on a trainable tensor of shape [{}] that is not a parameter of the model: register its module, or freeze "
          "it with requires_grad_(false)",
          fmt::join(leaf->variable.sizes(), ", "));
      continue;
    }
    // Zeros are the one way to an output's shape that LibTorch 1.13 leaves open.
    for (std::uint32_t i = 0; elements && i < node->num_inputs(); ++i) *elements += node->input_metadata(i).zeros_like().numel();
    for (const torch::autograd::Edge& edge : node->next_edges()) open.push_back(edge.function.get());
  }
}

}  // namespace

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
    : model_(model),
      parameters_(parameters),
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
  check_model(model_);  // it may have been put into training mode since
  const Untouched untouched(model_);
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

  const SideBySide side_by_side;
  const std::int64_t at_once = rows_at_once(blocks, gather);
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  // Blocks are taken one by one, since they differ in cost; integer addition makes the order irrelevant.
  at::parallel_for(0, std::min<std::int64_t>(at::get_num_threads(), blocks.size()), 1, [&](std::int64_t, std::int64_t) {
    at::Tensor sum;
    for (std::size_t b = next++; b < blocks.size(); b = next++) {
      if (blocks[b].empty()) continue;
      if (!sum.defined()) sum = at::empty({parameters_.size()}, at::kFloat);
      ClipDiagnostics of_block;
      write_block(blocks[b], at_once, gather, sum, insecure ? &of_block : nullptr);
      const std::lock_guard lock(mutex);
      add_to_lattice({sum.data_ptr<float>(), static_cast<std::size_t>(sum.numel())}, grid_, total.lattice_);
      if (insecure) insecure->merge(of_block);
    }
  });
  untouched.check();
  return total;
}

// The tape of a batch, with each row's loss and squared gradient norm (that of clipping, and the true one).
struct Clipper::Recorded {
  Tape tape;
  at::Tensor losses;
  std::vector<double> clipped_by, squared_norms;
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
  out.squared_norms.assign(rows, 0.0);
  out.clipped_by.assign(rows, 0.0);
  for (const auto& record : out.tape.records()) record->add_squared_norms(out.squared_norms, out.clipped_by);
  for (std::int64_t i = 0; i < rows; ++i) {
    const double least = out.clipped_by[i] / (kMostCancelled * kMostCancelled);
    out.clipped_by[i] = least > out.squared_norms[i] || std::isnan(least) ? least : out.squared_norms[i];
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
  return {{losses, losses + rows}, recorded.squared_norms, gradients};
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

void Clipper::write_block(std::span<const std::int64_t> rows, std::int64_t at_once, const Gather& gather, const at::Tensor& sum,
                          ClipDiagnostics* insecure) const {
  check_privacy(static_cast<std::int64_t>(rows.size()) <= block_rows_, "a block has more rows than the {} that its slack was charged for",
                block_rows_);
  const std::size_t step = static_cast<std::size_t>(at_once);
  write_part(rows.first(std::min(step, rows.size())), gather, sum, insecure);
  at::Tensor more;
  for (std::size_t begin = step; begin < rows.size(); begin += step) {
    if (!more.defined()) more = at::empty_like(sum);
    write_part(rows.subspan(begin, std::min(step, rows.size() - begin)), gather, more, insecure);
    sum.add_(more);
  }
}

void Clipper::write_part(std::span<const std::int64_t> rows, const Gather& gather, const at::Tensor& sum, ClipDiagnostics* insecure) const {
  const std::int64_t count = static_cast<std::int64_t>(rows.size());
  const Batch batch = gather(rows);
  check_privacy(batch.inputs.dim() >= 1 && batch.inputs.size(0) == count, "the inputs gathered for a block must have its rows");
  const Recorded recorded = record(batch);
  const at::NoGradGuard no_gradients;
  std::vector<float> factors(count, 0.0f);
  std::vector<std::int64_t> cleared;
  for (std::int64_t i = 0; i < count; ++i) {
    const double norm = std::sqrt(recorded.clipped_by[i]);
    if (!std::isfinite(norm)) cleared.push_back(i);
    factors[i] = clip_factor(norm, options_);
    if (insecure) {
      const double loss = recorded.losses.data_ptr<float>()[i];
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
    for (const auto& record : recorded.tape.records()) record->clear_rows(where);
  }
  const at::Tensor weights = at::from_blob(factors.data(), {count}, at::kFloat);
  for (const auto& record : recorded.tape.records()) record->write_weighted_sum(weights, parameters_, sum);
}

}  // namespace fodp
