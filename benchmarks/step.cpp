// What privacy costs: the time and memory of a private step against a plain LibTorch step on the same model and the same rows.
//
//   bench_step                        times, as ratios of alternating runs in one process
//   bench_step methods                a step of each method over one of DP-SGD, likewise
//   bench_step features               a full-batch step of a linear model of features over the time to read them once
//   bench_step memory MODEL plain     peak memory of a process that takes a few steps of one kind
//   bench_step memory MODEL private
//
// The plain step runs the same rows in batches of 128 by loss.backward() and torch's SGD, with all of torch's threads and oneDNN.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/nn/module.h>
#include <torch/optim/sgd.h>

#include "fodp/mechanism/banded.h"
#include "fodp/training/objective.h"
#include "fodp/training/private_steps.h"
#include "fodp/training/threads.h"

namespace {

using namespace fodp;

constexpr std::int64_t kBatch = 128;

struct Case {
  const char* name;
  ModelKind model;
  InputShape shape;
  std::int64_t rows;  // of a step
};

const Case kCases[] = {
    {"mlp", ModelKind::mlp, {1, 28, 28, 10}, 1024},
    {"cnn", ModelKind::cnn, {1, 28, 28, 10}, 1024},
    {"resnet", ModelKind::resnet, {3, 32, 32, 10}, 256},
};

// One model, its rows, and a step of either kind.
class Bench {
 public:
  explicit Bench(const Case& c, at::ScalarType type = at::kFloat) : rows_(c.rows), model_(make_model({.model = c.model}, c.shape)) {
    inputs_ = c.shape.is_list ? at::randn({rows_, c.shape.width}) : at::randn({rows_, c.shape.channels, c.shape.height, c.shape.width});
    if (c.shape.unit_norm) inputs_ /= inputs_.norm(2, {1}, /*keepdim=*/true);
    inputs_ = inputs_.to(type);
    targets_ = at::randint(c.shape.classes, {rows_}, at::kLong);
  }

  void make_private(const std::string& method = "fo-dp-sgd") {
    PrivateOptions options{.method = method};
    options.privacy = {.noise_multiplier = 1, .sample_rate = 1, .steps = 1000};
    options.update.lr = .001;
    options.own.of<BandOptions>().bands = 1;
    steps_ = std::make_unique<PrivateSteps>(
        *model_.module,
        [this](const at::Tensor& x, const at::Tensor& y) { return objective_table().front()->row_losses(model_.forward(x), y); },
        TrainingRows{rows_,
                     [this](std::span<const std::int64_t> rows) {
                       const auto count = static_cast<std::int64_t>(rows.size());
                       if (rows.back() - rows.front() + 1 == count)
                         return Batch{inputs_.slice(0, rows.front(), rows.back() + 1), targets_.slice(0, rows.front(), rows.back() + 1)};
                       const at::Tensor chosen = at::from_blob(const_cast<std::int64_t*>(rows.data()), {count}, at::kLong);
                       return Batch{inputs_.index_select(0, chosen), targets_.index_select(0, chosen)};
                     }},
        options);
  }

  void private_step() { steps_->step(); }

  const at::Tensor& inputs() const { return inputs_; }

  void plain_step() {
    if (!optimizer_) optimizer_ = std::make_unique<torch::optim::SGD>(model_.module->parameters(), .1);
    optimizer_->zero_grad();
    for (std::int64_t begin = 0; begin < rows_; begin += kBatch) {
      const std::int64_t end = std::min(begin + kBatch, rows_);
      objective_table()
          .front()
          ->row_losses(model_.forward(inputs_.slice(0, begin, end)), targets_.slice(0, begin, end))
          .sum()
          .div(rows_)
          .backward();
    }
    optimizer_->step();
    for (at::Tensor parameter : model_.module->parameters()) parameter.mutable_grad() = at::Tensor();
  }

 private:
  std::int64_t rows_;
  Model model_;
  at::Tensor inputs_, targets_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
  std::unique_ptr<PrivateSteps> steps_;
};

double milliseconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void compare_times() {
  std::printf("| model | rows | plain step, ms | private step, ms | ratio |\n|---|---|---|---|---|\n");
  for (const Case& c : kCases) {
    Bench bench(c);
    bench.make_private();
    bench.plain_step();
    bench.private_step();
    std::vector<double> plain, with_privacy, ratios;
    for (int i = 0; i < 15; ++i) {
      plain.push_back(milliseconds([&] { bench.plain_step(); }));
      with_privacy.push_back(milliseconds([&] { bench.private_step(); }));
      ratios.push_back(with_privacy.back() / plain.back());
    }
    std::printf("| %s | %ld | %.1f | %.1f | %.2f |\n", c.name, c.rows, median(plain), median(with_privacy), median(ratios));
  }
}

void compare_methods() {
  std::printf("| method | a step over DP-SGD's |\n|---|---|\n");
  for (const MethodEntry* entry : method_table()) {
    Bench plain(kCases[0]), other(kCases[0]);
    plain.make_private("dp-sgd");
    other.make_private(std::string(entry->name));
    plain.private_step();
    other.private_step();
    std::vector<double> ratios;
    for (int i = 0; i < 41; ++i) {
      const double reference = milliseconds([&] { plain.private_step(); });
      ratios.push_back(milliseconds([&] { other.private_step(); }) / reference);
    }
    std::printf("| %s | %.2f |\n", std::string(entry->name).c_str(), median(ratios));
  }
}

// Reads every byte once, on all threads, and gives back something that depends on each of them.
std::uint64_t read_all(const at::Tensor& values) {
  const auto* words = static_cast<const std::uint64_t*>(values.data_ptr());
  const std::int64_t count = static_cast<std::int64_t>(values.nbytes() / sizeof *words);
  constexpr std::int64_t kPiece = 1 << 17;
  std::atomic<std::uint64_t> all = 0;
  by_threads()((count + kPiece - 1) / kPiece, [&](std::int64_t first, std::int64_t last) {
    std::uint64_t sum = 0;
    for (std::int64_t i = first * kPiece; i < std::min(last * kPiece, count); ++i) sum ^= words[i];
    all ^= sum;
  });
  return all;
}

// Features of CIFAR-10's standard size, a fifth of its rows.
void compare_with_reading() {
  Bench bench({"linear", ModelKind::linear, {1, 1, 40960, 10, true, true}, 10000}, at::kBFloat16);
  bench.make_private("dp-sgd");
  bench.private_step();
  std::uint64_t seen = read_all(bench.inputs());
  std::vector<double> reading, steps, ratios;
  for (int i = 0; i < 15; ++i) {
    reading.push_back(milliseconds([&] { seen ^= read_all(bench.inputs()); }));
    steps.push_back(milliseconds([&] { bench.private_step(); }));
    ratios.push_back(steps.back() / reading.back());
  }
  std::printf("A step of a linear model on %.2f GB of features takes %.0f ms, reading them once %.0f ms: %.1f times as long (%s)\n",
              static_cast<double>(bench.inputs().nbytes()) / 1e9, median(steps), median(reading), median(ratios),
              seen == 0 ? "even" : "odd");
}

int measure_memory(const std::string& model, const std::string& kind) {
  const auto found = std::ranges::find(kCases, model, &Case::name);
  if (found == std::end(kCases) || (kind != "plain" && kind != "private")) return 2;
  Bench bench(*found);
  if (kind == "private") bench.make_private();
  for (int i = 0; i < 3; ++i) kind == "plain" ? bench.plain_step() : bench.private_step();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%.0f MiB at most: %s, %s steps\n", static_cast<double>(usage.ru_maxrss) / 1024, model.c_str(), kind.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  use_threads(default_threads());
  if (argc == 4 && std::string(argv[1]) == "memory") return measure_memory(argv[2], argv[3]);
  if (argc == 2 && std::string(argv[1]) == "methods") return compare_methods(), 0;
  if (argc == 2 && std::string(argv[1]) == "features") return compare_with_reading(), 0;
  if (argc != 1) return 2;
  compare_times();
  return 0;
}
