#include "fodp/training/evaluate.h"

#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/trunc.h>
#include <torch/nn/module.h>

#include "fodp/gradients/user_code.h"
#include "fodp/gradients/workers.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

// Puts every module into eval mode (no dropout) and each back into the mode it had.
class EvalMode {
 public:
  explicit EvalMode(torch::nn::Module* model) {
    if (model == nullptr) return;  // a forward function by itself has no modes
    for (const auto& module : model->modules(/*include_self=*/true)) modes_.emplace_back(module, module->is_training());
    model->eval();
  }
  ~EvalMode() {
    for (const auto& [module, training] : modes_) module->train(training);  // sets its parts too, which come after it
  }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> modes_;
};

// Calls `block` with the outputs and targets of each block of rows, blocks side by side; it is told the number of the block.
template <class Block>
void for_each_block(const Model& model, const Rows& test, std::int64_t rows_at_once, const Block& block) {
  const std::int64_t blocks = (test.count() + rows_at_once - 1) / rows_at_once;
  const EvalMode eval_mode(model.module.get());
  on_workers(blocks, [&](std::int64_t b) {
    const at::NoGradGuard no_gradients;
    std::vector<std::int64_t> rows(std::min(rows_at_once, test.count() - b * rows_at_once));
    std::iota(rows.begin(), rows.end(), b * rows_at_once);
    const Batch batch = in_user_code("fetching test rows", {}, [&] { return test.gather(rows); });
    in_user_code("evaluating test rows", batch, [&] { block(b, model.forward(batch.inputs), batch.targets); });
  });
}

constexpr std::int64_t kRows = 64;  // LibTorch's convolutions unfold a whole batch: 0.6 MB a row and thread in the resnet

std::vector<double> sums_of(const at::Tensor& parts) {
  const at::Tensor sums = parts.sum(0).contiguous();
  return {sums.data_ptr<double>(), sums.data_ptr<double>() + sums.numel()};
}

std::vector<double> total(const std::vector<std::vector<double>>& of_blocks, std::size_t size) {
  std::vector<double> total(size, 0.0);
  for (const auto& block : of_blocks)
    for (std::size_t i = 0; i < size; ++i) total[i] += block[i];
  return total;
}

}  // namespace

TestResult evaluate(const Model& model, const Rows& test, const Objective& objective) {
  const auto blocks = static_cast<std::size_t>((test.count() + kRows - 1) / kRows);
  std::vector<double> losses(blocks);
  std::vector<std::vector<double>> sums(blocks);
  for_each_block(model, test, kRows, [&](std::int64_t block, const at::Tensor& outputs, const at::Tensor& targets) {
    losses[static_cast<std::size_t>(block)] = objective.row_losses(outputs, targets).sum(at::kDouble).item<double>();
    sums[static_cast<std::size_t>(block)] = sums_of(objective.parts(outputs, targets));
  });
  const double count = static_cast<double>(test.count());
  const std::vector<double> all = total(sums, objective.part_bounds.size());
  return {.metric = objective.value(all, count),
          .loss = std::accumulate(losses.begin(), losses.end(), 0.0) / count,
          .error = objective.error ? objective.error(all, count) : 0};
}

std::vector<double> bounded_sums(const Model& model, const Rows& test, const Objective& objective) {
  const auto blocks = static_cast<std::size_t>((test.count() + kRows - 1) / kRows);
  std::vector<std::vector<double>> sums(blocks);
  for_each_block(model, test, kRows, [&](std::int64_t block, at::Tensor outputs, const at::Tensor& targets) {
    if (objective.target == Target::Kind::number) outputs = at::nan_to_num(outputs).clamp(-1, 1);
    const at::Tensor parts = objective.parts(outputs, targets);
    std::vector<at::Tensor> rounded;
    for (std::size_t i = 0; i < objective.part_bounds.size(); ++i) {
      const double bound = objective.part_bounds[i], grid = scalar_grid(bound);
      rounded.push_back(at::trunc(at::nan_to_num(parts.select(1, static_cast<std::int64_t>(i))).clamp(-bound, bound) / grid) * grid);
    }
    sums[static_cast<std::size_t>(block)] = sums_of(at::stack(rounded, 1));
  });
  return total(sums, objective.part_bounds.size());
}

}  // namespace fodp
