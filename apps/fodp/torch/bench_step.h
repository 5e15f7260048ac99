// A step of training on made-up rows, private or plain, for `fodp bench`.
//
// Both draw as many of the same rows in a step and train the same model. The plain step is what LibTorch does by itself: the rows of the
// step as one batch, loss.backward() and torch's SGD.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/data/rows.h"

namespace torch::nn {
class Module;
}
namespace torch::optim {
class SGD;
}

namespace fodp {
class PrivateSteps;
}

namespace fodp::app {

// What is trained: the model and how many of its rows a step takes.
struct BenchCase {
  std::string_view name, what;
  std::int64_t lot;
};

std::vector<BenchCase> bench_cases();  // mlp, paper, cnn, resnet, transformer, wide
const BenchCase& bench_case(std::string_view name);

class BenchStep {
 public:
  explicit BenchStep(const BenchCase& what);
  ~BenchStep();

  void plain_step();
  void make_private(const std::string& method);  // before the first private step
  void private_step();
  // A private step whose release and update take this long, in seconds.
  double private_step_timing_release();

  std::int64_t parameters() const;

 private:
  Batch rows_of(const std::vector<std::int64_t>& chosen) const;

  BenchCase case_;
  std::shared_ptr<torch::nn::Module> module_;
  std::function<at::Tensor(const at::Tensor&)> forward_;
  at::Tensor inputs_, targets_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
  std::unique_ptr<PrivateSteps> steps_;
  std::int64_t next_ = 0;  // row of the next plain step
};

// Both kinds of step compute on so many threads from here on: ours on workers, LibTorch's by OpenMP and by the BLAS's own threads.
void bench_threads(std::int64_t threads, bool plain);

}  // namespace fodp::app
