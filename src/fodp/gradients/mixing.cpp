#include "fodp/gradients/mixing.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::int64_t kRows = 4;

// Restores the state of torch's generator at its end.
class SameRandomness {
 public:
  SameRandomness() {
    const std::lock_guard lock(generator_.mutex());
    state_ = generator_.get_state();
  }
  ~SameRandomness() {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(state_);
  }
  SameRandomness(const SameRandomness&) = delete;
  SameRandomness& operator=(const SameRandomness&) = delete;

 private:
  at::Generator generator_ = at::detail::getDefaultCPUGenerator();
  at::Tensor state_;
};

at::Tensor with_row_changed(const at::Tensor& sample, std::int64_t row) {
  at::Tensor altered = sample.clone();
  altered.select(0, row).copy_(sample.select(0, (row + 1) % sample.size(0)));
  return altered;
}

void check_alone(bool unchanged, const char* what, std::int64_t changed, std::int64_t row) {
  check_privacy(unchanged,
                "the model mixes examples: changing row {} of a batch changes the {} of row {}, so no gradient belongs to one example; "
                "remove what works across the batch dimension",
                changed, what, row);
}

bool close(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-3 * std::abs(a) + 1e-9; }

bool close(const at::Tensor& a, const at::Tensor& b) { return (a - b).norm().item<double>() <= 1e-3 * a.norm().item<double>() + 1e-9; }

// Ways to make rows up. What mixes may show with some only: a logarithm needs positive numbers, sorting by length needs lengths.
enum class Made { normal, positive, of_different_lengths };

at::Tensor made_up(const at::Tensor& like, Made how) {
  check_input(like.dim() >= 1, "a batch of rows must have the rows in its first dimension");
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape[0] = kRows;
  at::Tensor rows = !like.is_floating_point() ? at::randint(2, shape, like.options())
                    : how == Made::positive   ? at::rand(shape, like.options())
                                              : at::randn(shape, like.options());
  const at::Tensor flat = rows.view({kRows, -1});
  const std::int64_t width = flat.size(1);
  for (std::int64_t row = 0; row < kRows && width > 0; ++row) {
    if (!like.is_floating_point()) flat[row][0].fill_(row % 2);  // neighbours differ
    if (how == Made::of_different_lengths && width > 1)
      flat[row].slice(0, std::max<std::int64_t>(1, width * (row + 1) / (kRows + 1)), width).zero_();
  }
  return rows;
}

}  // namespace

void check_examples_do_not_mix(const std::function<at::Tensor(const at::Tensor&)>& forward, std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), kRows);
  check_examples_do_not_mix(forward, at::randn(shape));
}

void check_examples_do_not_mix(const std::function<at::Tensor(const at::Tensor&)>& forward, const at::Tensor& sample) {
  check_input(sample.dim() >= 1 && sample.size(0) >= 2, "a sample to look for mixing in needs two rows at least");
  const at::NoGradGuard no_gradients;
  const std::int64_t rows = sample.size(0);
  const auto outputs_of = [&](const at::Tensor& batch) {
    const SameRandomness same;
    return forward(batch);
  };
  const at::Tensor before = outputs_of(sample);
  check_privacy(before.dim() >= 1 && before.size(0) == rows, "the model gives {} outputs for {} rows: one each is needed",
                before.dim() ? before.size(0) : 0, rows);
  for (std::int64_t changed = 0; changed < rows; ++changed) {
    const at::Tensor after = outputs_of(with_row_changed(sample, changed));
    for (std::int64_t row = 0; row < rows; ++row)
      if (row != changed)
        check_alone(after.select(0, row).allclose(before.select(0, row), 1e-5, 1e-6, /*equal_nan=*/true), "output", changed, row);
  }
}

void check_rows_do_not_mix(const Clipper& clipper, const torch::nn::Module& model, const Batch& like) {
  std::vector<std::pair<at::Tensor, at::Tensor>> before_and_now;  // what a forward pass must not change, however it does it
  for (const at::Tensor& tensor : model.parameters()) before_and_now.emplace_back(tensor.detach().clone(), tensor);
  for (const at::Tensor& tensor : model.buffers()) before_and_now.emplace_back(tensor.clone(), tensor);

  const SameRandomness outer;
  bool finite = false;
  for (const Made how : {Made::normal, Made::positive, Made::of_different_lengths}) {
    const at::Tensor inputs = made_up(like.inputs, how), targets = like.targets.defined() ? made_up(like.targets, how) : at::Tensor();
    const auto rows_of = [&](const at::Tensor& x, const at::Tensor& y) {
      const SameRandomness same;
      return clipper.insecure_rows({x, y});
    };
    const auto before = rows_of(inputs, targets);
    finite = finite || std::ranges::all_of(before.squared_norms, [](double norm) { return std::isfinite(norm); });
    for (std::int64_t changed = 0; changed < kRows; ++changed) {
      const auto after = rows_of(with_row_changed(inputs, changed), targets.defined() ? with_row_changed(targets, changed) : targets);
      for (std::int64_t row = 0; row < kRows; ++row) {
        if (row == changed) continue;
        check_alone(close(before.losses[row], after.losses[row]), "loss", changed, row);
        check_alone(!std::isfinite(before.squared_norms[row]) || close(before.gradients[row], after.gradients[row]), "gradient", changed,
                    row);
      }
    }
  }
  check_privacy(
      finite,
      "made-up rows (normal or positive numbers, 0 and 1 for integers) give no finite gradient: it cannot be seen whether the model mixes "
      "examples; let it take such rows");
  for (const auto& [before, now] : before_and_now)
    check_privacy(before.equal(now),
                  "the forward pass changes a parameter or buffer of shape [{}]: it would carry training data without noise into the "
                  "model; put its layer into eval mode or remove it",
                  fmt::join(before.sizes(), ", "));
}

}  // namespace fodp
