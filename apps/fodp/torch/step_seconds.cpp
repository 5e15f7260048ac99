#include "step_seconds.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include "fodp/data/rows.h"
#include "fodp/models/model.h"
#include "fodp/training/objective.h"
#include "fodp/training/private_steps.h"

namespace fodp::app {
namespace {

constexpr std::int64_t kMostParameters = 4000000;  // of the model that is timed; a larger one takes so many times longer
constexpr std::int64_t kHidden = 64, kClasses = 10;

struct Timed {
  Model model;
  std::int64_t width, classes, parameters;
};

// A linear model of two classes where there are few parameters, else one hidden layer.
Timed model_to_time(std::int64_t parameters) {
  constexpr std::int64_t kOutputs = (kHidden + 1) * kClasses;
  const std::int64_t wanted = std::min(parameters, kMostParameters);
  if (wanted < 4 * kOutputs) {
    const std::int64_t width = std::max<std::int64_t>(1, wanted / 2 - 1);
    return {make_model({.model = ModelKind::linear}, {1, 1, width, 2, true}), width, 2, 2 * (width + 1)};
  }
  const std::int64_t width = (wanted - kOutputs) / kHidden - 1;
  return {make_model({.model = ModelKind::mlp, .hidden = {kHidden}}, {1, 1, width, kClasses, true}), width, kClasses,
          (width + 1) * kHidden + kOutputs};
}

// The least of a few steps on so many rows: whatever else the machine does makes a step longer, never shorter.
double least_seconds(const Timed& timed, std::int64_t rows) {
  const TensorRows made_up(at::randn({rows, timed.width}), at::randint(timed.classes, {rows}, at::kLong), timed.classes);
  PrivateOptions options;
  options.privacy = {.noise_multiplier = 1, .sample_rate = 1, .steps = 1000};
  options.update.lr = 1e-3;
  PrivateSteps steps(
      *timed.model.module,
      [&](const Tensors& x, const at::Tensor& y) { return objective_table().front()->row_losses(timed.model.forward(x), y); },
      {.count = rows, .gather = [&](std::span<const std::int64_t> chosen) { return made_up.gather(chosen); }}, options);
  steps.step();  // the first one also makes memory
  double least = std::numeric_limits<double>::infinity(), total = 0;
  for (int i = 0; i < 10 && total < .2; ++i) {
    const auto start = std::chrono::steady_clock::now();
    steps.step();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    least = std::min(least, seconds);
    total += seconds;
  }
  return least;
}

}  // namespace

double StepSeconds::of(const RunSize& size, std::int64_t examples) const {
  return static_cast<double>(size.steps) * (step + row * size.sample_rate * static_cast<double>(examples));
}

StepSeconds measure_step_seconds(std::int64_t parameters) {
  constexpr std::int64_t kFew = 8, kMany = 512;
  const Timed timed = model_to_time(parameters);
  const double scale = static_cast<double>(parameters) / static_cast<double>(timed.parameters);
  const double few = scale * least_seconds(timed, kFew), many = scale * least_seconds(timed, kMany);
  const double row = std::max(0.0, (many - few) / static_cast<double>(kMany - kFew));
  return {.step = std::max(0.0, few - row * static_cast<double>(kFew)), .row = row};
}

}  // namespace fodp::app
