#include "bench_step.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/nn/module.h>
#include <torch/optim/sgd.h>

#include "fodp/base/check.h"
#include "fodp/gradients/attention.h"
#include "fodp/gradients/embedding.h"
#include "fodp/gradients/layer_norm.h"
#include "fodp/gradients/linear.h"
#include "fodp/models/model.h"
#include "fodp/training/objective.h"
#include "fodp/training/private_steps.h"
#include "fodp/training/threads.h"

namespace fodp::app {
namespace {

constexpr std::int64_t kRate = 8;  // rows that there are, over those of a step
constexpr std::int64_t kLength = 32, kWords = 128, kWidth = 32;

// That of examples/05_transformer.cpp.
struct Transformer : torch::nn::Module {
  Transformer() {
    tokens = register_module("tokens", nn::Embedding(kWords, kWidth));
    places = register_module("places", nn::Embedding(kLength, kWidth));
    attention = register_module("attention", nn::MultiheadAttention(kWidth, 4));
    norm1 = register_module("norm1", nn::LayerNorm(std::vector{kWidth}));
    norm2 = register_module("norm2", nn::LayerNorm(std::vector{kWidth}));
    wide = register_module("wide", nn::Linear(kWidth, 2 * kWidth));
    narrow = register_module("narrow", nn::Linear(2 * kWidth, kWidth));
    head = register_module("head", nn::Linear(kWidth, 2));
  }
  at::Tensor forward(const at::Tensor& text) {
    at::Tensor x = tokens(text) + places(at::arange(kLength).expand(text.sizes()));
    x = norm1(x + attention->forward(x));
    x = norm2(x + narrow(at::gelu(wide(x))));
    return head(x.mean(1));
  }
  nn::Embedding tokens{nullptr}, places{nullptr};
  nn::MultiheadAttention attention{nullptr};
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear wide{nullptr}, narrow{nullptr}, head{nullptr};
};

struct Shape {
  std::string_view name;
  ModelOptions model;
  InputShape shape;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"mlp", {.model = ModelKind::mlp}, {1, 28, 28, 10}},
      {"paper", {.model = ModelKind::mlp}, {3, 32, 32, 10}},
      {"cnn", {.model = ModelKind::cnn}, {1, 28, 28, 10}},
      {"resnet", {.model = ModelKind::resnet}, {3, 32, 32, 10}},
      {"wide", {.model = ModelKind::mlp, .hidden = {10000}}, {1, 1, 990, 10, true}},
  };
  return all;
}

}  // namespace

std::vector<BenchCase> bench_cases() {
  return {{"mlp", "mlp 784-64-32-10", 1024},
          {"paper", "the paper's mlp 3072-64-32-10", 200},
          {"cnn", "cnn on 28x28", 1024},
          {"resnet", "resnet on 32x32", 256},
          {"transformer", "the transformer of examples/05", 256},
          {"wide", "mlp with 10 million parameters", 8}};
}

const BenchCase& bench_case(std::string_view name) {
  static const std::vector<BenchCase> all = bench_cases();
  return *std::ranges::find(all, name, &BenchCase::name);
}

BenchStep::BenchStep(const BenchCase& what) : case_(what) {
  const std::int64_t rows = kRate * what.lot;
  if (what.name == "transformer") {
    auto transformer = std::make_shared<Transformer>();
    forward_ = [model = transformer.get()](const at::Tensor& x) { return model->forward(x); };
    module_ = transformer;
    inputs_ = at::randint(kWords, {rows, kLength}, at::kLong);
    targets_ = at::randint(2, {rows}, at::kLong);
    return;
  }
  const Shape& shape = *std::ranges::find(shapes(), what.name, &Shape::name);
  Model model = make_model(shape.model, shape.shape);
  module_ = model.module;
  forward_ = [forward = model.forward](const at::Tensor& x) { return forward(x); };
  const InputShape& of = shape.shape;
  inputs_ = of.is_list ? at::randn({rows, of.width}) : at::randn({rows, of.channels, of.height, of.width});
  targets_ = at::randint(of.classes, {rows}, at::kLong);
}

BenchStep::~BenchStep() = default;

std::int64_t BenchStep::parameters() const {
  std::int64_t all = 0;
  for (const at::Tensor& parameter : module_->parameters()) all += parameter.numel();
  return all;
}

Batch BenchStep::rows_of(const std::vector<std::int64_t>& chosen) const {
  const at::Tensor which = at::from_blob(const_cast<std::int64_t*>(chosen.data()), {static_cast<std::int64_t>(chosen.size())}, at::kLong);
  return {inputs_.index_select(0, which), targets_.index_select(0, which)};
}

void BenchStep::plain_step() {
  if (!optimizer_) optimizer_ = std::make_unique<torch::optim::SGD>(module_->parameters(), .001);
  optimizer_->zero_grad();
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(case_.lot));
  for (std::int64_t& row : chosen) row = next_ = (next_ + kRate + 1) % inputs_.size(0);
  const Batch batch = rows_of(chosen);
  objective_table().front()->row_losses(forward_(batch.inputs[0]), batch.targets).mean().backward();
  optimizer_->step();
  for (at::Tensor parameter : module_->parameters()) parameter.mutable_grad() = at::Tensor();
}

void BenchStep::make_private(const std::string& method) {
  PrivateOptions options{.method = method};
  options.privacy = {.noise_multiplier = 1, .sample_rate = 1. / kRate, .steps = 1000000};
  options.update.lr = .001;
  steps_ = std::make_unique<PrivateSteps>(
      *module_, [this](const at::Tensor& x, const at::Tensor& y) { return objective_table().front()->row_losses(forward_(x), y); },
      TrainingRows{inputs_.size(0),
                   [this](std::span<const std::int64_t> rows) {
                     return rows_of({rows.begin(), rows.end()});
                   }},
      options);
}

void BenchStep::private_step() { steps_->step(); }

double BenchStep::private_step_timing_release() {
  ClippedSum sum = steps_->clipped_sum(steps_->sample());
  const auto start = std::chrono::steady_clock::now();
  steps_->update(steps_->release(std::move(sum)));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void bench_threads(std::int64_t threads, bool plain) {
  use_threads(threads);
  using SetThreads = void (*)(int);
  if (auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(plain ? static_cast<int>(threads) : 1);
}

}  // namespace fodp::app
