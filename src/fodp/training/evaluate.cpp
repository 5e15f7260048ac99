#include "fodp/training/evaluate.h"

#include <numeric>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/sum.h>
#include <torch/nn/module.h>

#include "fodp/gradients/side_by_side.h"
#include "fodp/gradients/user_code.h"

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

}  // namespace

TestResult evaluate(const Model& model, const Rows& test, const Objective& objective) {
  constexpr std::int64_t kRows = 64;  // LibTorch's convolutions unfold a whole batch: 0.6 MB a row and thread in the resnet
  const std::int64_t blocks = (test.count() + kRows - 1) / kRows;
  std::vector<double> losses(blocks);
  std::vector<std::vector<double>> sums(blocks);
  const SideBySide side_by_side;
  const EvalMode eval_mode(model.module.get());
  at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
    const at::NoGradGuard no_gradients;
    for (std::int64_t b = first; b < last; ++b) {
      std::vector<std::int64_t> rows(std::min(kRows, test.count() - b * kRows));
      std::iota(rows.begin(), rows.end(), b * kRows);
      const Batch batch = in_user_code("fetching test rows", {}, [&] { return test.gather(rows); });
      in_user_code("evaluating test rows", batch, [&] {
        const at::Tensor outputs = model.forward(batch.inputs);
        losses[b] = objective.row_losses(outputs, batch.targets).sum(at::kDouble).item<double>();
        sums[b] = objective.sums(outputs, batch.targets);
      });
    }
  });
  const double count = static_cast<double>(test.count());
  std::vector<double> total(blocks > 0 ? sums[0].size() : 0, 0.0);
  for (const auto& of_block : sums)
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += of_block[i];
  return {.metric = objective.value(total, count), .loss = std::accumulate(losses.begin(), losses.end(), 0.0) / count};
}

}  // namespace fodp
