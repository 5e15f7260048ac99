// The library on a problem of methods/plain.h: the same rows, the same network of fodp::nn layers, any options.
#pragma once

#include <ATen/ops/from_blob.h>
#include <ATen/ops/nll_loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>

#include "fodp/gradients/linear.h"
#include "fodp/gradients/row_format.h"
#include "fodp/training/private_steps.h"
#include "methods/plain.h"

namespace fodp::testing {

class SmallRun {
 public:
  SmallRun(const plain::Problem& problem, const plain::Vector& start, const PrivateOptions& options)
      : problem_(problem), net_(network(problem.net.widths)) {
    const at::NoGradGuard no_gradients;
    std::size_t offset = 0;
    for (at::Tensor parameter : net_->parameters()) {
      float* values = parameter.data_ptr<float>();
      for (std::int64_t i = 0; i < parameter.numel(); ++i) values[i] = static_cast<float>(start[offset++]);
    }
    const auto losses = [this](const at::Tensor& x, const at::Tensor& y) {
      return at::nll_loss(net_->forward(x).log_softmax(1), y, {}, at::Reduction::None);
    };
    TrainingRows rows{static_cast<std::int64_t>(problem.inputs.size()),
                      [this](std::span<const std::int64_t> chosen) { return gather(chosen); }};
    steps_ = std::make_unique<PrivateSteps>(*net_, losses, rows, options);
  }

  PrivateSteps& steps() { return *steps_; }
  const PrivateSteps& steps() const { return *steps_; }
  std::vector<float> theta() const { return {steps_->parameters().begin(), steps_->parameters().end()}; }
  // Whose turn comes when, with so many bands.
  std::vector<std::uint16_t> groups(std::int64_t bands) const {
    return groups_by_contents([this](std::span<const std::int64_t> chosen) { return gather(chosen); }, std::ssize(problem_.inputs), bands,
                              /*alike_is_equal=*/true);
  }
  std::vector<float> averaged() {
    return steps_->at_average([&] { return theta(); });
  }

 private:
  static torch::nn::Sequential network(const std::vector<std::int64_t>& widths) {
    torch::nn::Sequential net;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      if (i > 0) net->push_back(torch::nn::Tanh());
      net->push_back(nn::Linear(widths[i], widths[i + 1]));
    }
    return net;
  }

  Batch gather(std::span<const std::int64_t> chosen) const {
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (std::int64_t row : chosen) {
      for (double value : problem_.inputs[row]) x.push_back(static_cast<float>(value));
      y.push_back(problem_.labels[row]);
    }
    const auto rows = static_cast<std::int64_t>(chosen.size());
    return {at::from_blob(x.data(), {rows, problem_.net.widths.front()}, at::kFloat).clone(),
            at::from_blob(y.data(), {rows}, at::kLong).clone()};
  }

  const plain::Problem& problem_;
  torch::nn::Sequential net_;
  std::unique_ptr<PrivateSteps> steps_;
};

// q 1, no noise: nothing of a run is random.
inline PrivateOptions deterministic(std::string method, std::int64_t steps, double lr) {
  PrivateOptions options{.method = std::move(method)};
  options.privacy = {.noise_multiplier = 0.0, .sample_rate = 1.0, .steps = steps};
  options.update.lr = lr;
  return options;
}

}  // namespace fodp::testing
