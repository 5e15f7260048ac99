#include "fodp/gradients/mixing.h"

#include <cmath>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

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

void check_rows_do_not_mix(const Clipper& clipper, const Batch& like) {
  const auto shape_of = [](const at::Tensor& tensor) {
    std::vector<std::int64_t> shape = tensor.sizes().vec();
    shape[0] = kRows;
    return shape;
  };
  const at::Tensor inputs = at::isFloatingType(like.inputs.scalar_type()) ? at::randn(shape_of(like.inputs), like.inputs.options())
                                                                          : at::randint(2, shape_of(like.inputs), like.inputs.options());
  const at::Tensor targets = like.targets.defined() ? at::zeros(shape_of(like.targets), like.targets.options()) : at::Tensor();
  const auto rows_of = [&](const at::Tensor& batch) {
    const SameRandomness same;
    return clipper.insecure_rows({batch, targets});
  };
  const auto before = rows_of(inputs);
  for (std::int64_t changed = 0; changed < kRows; ++changed) {
    const auto after = rows_of(with_row_changed(inputs, changed));
    for (std::int64_t row = 0; row < kRows; ++row) {
      if (row == changed) continue;
      check_alone(close(before.losses[row], after.losses[row]), "loss", changed, row);
      check_alone(close(before.squared_norms[row], after.squared_norms[row]), "gradient", changed, row);
    }
  }
}

}  // namespace fodp
