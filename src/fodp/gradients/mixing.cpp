#include "fodp/gradients/mixing.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/gradients/user_code.h"

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

// f of every tensor of a batch.
template <class F>
Batch each_tensor(const Batch& batch, const F& f) {
  std::vector<at::Tensor> inputs;
  for (const at::Tensor& tensor : batch.inputs) inputs.push_back(f(tensor));
  return {std::move(inputs), batch.targets.defined() ? f(batch.targets) : at::Tensor()};
}

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
enum class Made { normal, positive, of_different_lengths, whole, whole_of_different_lengths, as_the_data };

// Larger numbers are taken for measurements, not for ids.
constexpr double kLargestId = 1 << 30;

// Random whole numbers from `low` to `high`. The first number of a row differs from that of its neighbours.
at::Tensor whole_numbers(std::int64_t low, std::int64_t high, const std::vector<std::int64_t>& shape, const at::TensorOptions& options) {
  at::Tensor rows = at::randint(low, high + 1, shape, options);
  const at::Tensor flat = rows.view({kRows, -1});
  for (std::int64_t row = 0; row < kRows && flat.size(1) > 0; ++row) flat[row][0].fill_(row % 2 ? high : low);
  return rows;
}

// Whole numbers where `like` has them, in the range of those it has, and other rows' values elsewhere. A range of one number would make all
// rows alike, so that it is 0 and 1 instead.
at::Tensor whole_as_in(const at::Tensor& like, const at::Tensor& elsewhere) {
  const at::Tensor values = like.to(at::kDouble);
  const at::Tensor whole = values.eq(values.floor()).logical_and(values.abs().le(kLargestId)).all(0, /*keepdim=*/true);
  const at::Tensor ids = values.masked_select(whole);
  if (ids.numel() == 0) return elsewhere;
  std::int64_t low = ids.min().item<double>(), high = ids.max().item<double>();
  if (low == high) {
    low = 0;
    high = 1;
  }
  return at::where(whole, whole_numbers(low, high, elsewhere.sizes().vec(), elsewhere.options()), elsewhere);
}

at::Tensor made_up(const at::Tensor& like, Made how) {
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape[0] = kRows;
  const bool whole = !like.is_floating_point() || how == Made::whole || how == Made::whole_of_different_lengths;
  at::Tensor rows = whole                   ? whole_numbers(0, 1, shape, like.options())
                    : how == Made::positive ? at::rand(shape, like.options())
                                            : at::randn(shape, like.options());
  if (how == Made::as_the_data) return whole_as_in(like, rows);
  const at::Tensor flat = rows.view({kRows, -1});
  const std::int64_t width = flat.size(1);
  if ((how == Made::of_different_lengths || how == Made::whole_of_different_lengths) && width > 1)
    for (std::int64_t row = 0; row < kRows; ++row)
      flat[row].slice(0, std::max<std::int64_t>(1, width * (row + 1) / (kRows + 1)), width).zero_();
  return rows;
}

// Whether there was anything to see: gradients were finite, and a changed row changed its own loss or gradient. PrivacyError if rows mix.
bool look_at(const Clipper& clipper, const Batch& batch, const char* doing) {
  const std::int64_t rows = batch.inputs.rows();
  const auto results_of = [&](const Batch& given) {
    const SameRandomness same;
    return in_user_code(doing, given, [&] { return clipper.insecure_rows(given); });
  };
  const auto before = results_of(batch);
  bool own_changed = false;
  for (std::int64_t changed = 0; changed < rows; ++changed) {
    const auto after = results_of(each_tensor(batch, [&](const at::Tensor& tensor) { return with_row_changed(tensor, changed); }));
    for (std::int64_t row = 0; row < rows; ++row) {
      if (row == changed) {
        own_changed = own_changed || before.losses[row] != after.losses[row] || !before.gradients[row].equal(after.gradients[row]);
        continue;
      }
      check_alone(close(before.losses[row], after.losses[row]), "loss", changed, row);
      check_alone(!std::isfinite(before.squared_norms[row]) || close(before.gradients[row], after.gradients[row]), "gradient", changed,
                  row);
    }
  }
  return own_changed && std::ranges::all_of(before.squared_norms, [](double norm) { return std::isfinite(norm); });
}

void look_at_sample(const Clipper& clipper, const Batch& sample, const Batch& like) {
  check_input(sample.inputs.rows() >= 2, "a sample to look for mixing in needs two rows at least");
  check_input(sample.targets.defined() == like.targets.defined(), "a sample needs targets exactly if the training rows have them");
  each_tensor(sample, [&](const at::Tensor& tensor) {
    check_input(tensor.dim() >= 1 && tensor.size(0) == sample.inputs.rows(), "a sample needs as many targets as inputs");
    return tensor;
  });
  check_privacy(look_at(clipper, sample, "computing the losses and gradients of the sample rows"),
                "the sample rows give no finite gradient, or all the same: it cannot be seen whether the model mixes examples; give rows "
                "that differ");
}

void look_at_made_up_rows(const Clipper& clipper, const Batch& like) {
  each_tensor(like, [](const at::Tensor& tensor) {
    check_input(tensor.dim() >= 1, "a batch of rows must have the rows in its first dimension");
    return tensor;
  });
  bool taken = false, seen = false;
  std::string failure;  // what the model last said, never about rows that were made from the data
  const auto takes = [&](Made how) {
    try {
      seen = look_at(clipper, each_tensor(like, [&](const at::Tensor& tensor) { return made_up(tensor, how); }),
                     "computing the losses and gradients of made-up rows") ||
             seen;
      return taken = true;
    } catch (const InputError& error) {
      if (how != Made::as_the_data) failure = error.what();
      return false;
    }
  };
  const auto takes_all = [&](std::initializer_list<Made> ways) { return std::ranges::count_if(ways, takes) == std::ssize(ways); };
  bool all = takes_all({Made::normal, Made::positive, Made::of_different_lengths});
  if (!all) all = takes_all({Made::whole, Made::whole_of_different_lengths});
  if (!all) takes(Made::as_the_data);
  check_input(taken, "{}; let it take normal numbers or 0 and 1, or give sample rows that it takes", failure);
  check_privacy(
      seen,
      "made-up rows (normal or positive numbers, 0 and 1 for integers) give no finite gradient, or all the same: it cannot be seen whether "
      "the model mixes examples; let it take such rows, or give sample rows");
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
    return in_user_code("computing the outputs of sample rows", {batch, {}}, [&] { return forward(batch); });
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

void check_rows_do_not_mix(const Clipper& clipper, const torch::nn::Module& model, const Batch& like, const std::optional<Batch>& sample) {
  std::vector<std::pair<at::Tensor, at::Tensor>> before_and_now;  // what a forward pass must not change, however it does it
  for (const at::Tensor& tensor : model.parameters()) before_and_now.emplace_back(tensor.detach().clone(), tensor);
  for (const at::Tensor& tensor : model.buffers()) before_and_now.emplace_back(tensor.clone(), tensor);

  const SameRandomness outer;
  if (sample)
    look_at_sample(clipper, *sample, like);
  else
    look_at_made_up_rows(clipper, like);
  for (const auto& [before, now] : before_and_now)
    check_privacy(before.equal(now),
                  "the forward pass changes a parameter or buffer of shape [{}]: it would carry training data without noise into the "
                  "model; put its layer into eval mode or remove it",
                  fmt::join(before.sizes(), ", "));
}

}  // namespace fodp
