#include "fodp/training/evaluate.h"

#include <numeric>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/sum.h>
#include <torch/nn/module.h>

#include "fodp/gradients/side_by_side.h"

namespace fodp {

at::Tensor row_cross_entropy(const at::Tensor& outputs, const at::Tensor& targets) {
  return at::cross_entropy_loss(outputs, targets, /*weight=*/{}, at::Reduction::None);
}

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

TestResult evaluate(const Model& model, const Examples& test) {
  constexpr std::int64_t kRows = 64;  // LibTorch's convolutions unfold a whole batch: 0.6 MB a row and thread in the resnet
  const std::int64_t blocks = (test.size() + kRows - 1) / kRows;
  std::vector<double> losses(blocks);
  std::vector<std::int64_t> hits(blocks);
  const SideBySide side_by_side;
  const EvalMode eval_mode(model.module.get());
  at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
    const at::NoGradGuard no_gradients;
    for (std::int64_t b = first; b < last; ++b) {
      std::vector<std::int64_t> rows(std::min(kRows, test.size() - b * kRows));
      std::iota(rows.begin(), rows.end(), b * kRows);
      const at::Tensor outputs = model.forward(test.inputs(rows)), targets = test.targets(rows);
      losses[b] = row_cross_entropy(outputs, targets).sum(at::kDouble).item<double>();
      hits[b] = outputs.argmax(1).eq(targets).sum().item<std::int64_t>();
    }
  });
  const double count = static_cast<double>(test.size());
  return {.accuracy = static_cast<double>(std::accumulate(hits.begin(), hits.end(), std::int64_t{0})) / count,
          .loss = std::accumulate(losses.begin(), losses.end(), 0.0) / count};
}

}  // namespace fodp
