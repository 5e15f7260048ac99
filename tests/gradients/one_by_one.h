// Per-example gradients by ordinary autograd, one example at a time, in double: slow, and shares nothing with the tape.
#pragma once

#include <functional>
#include <vector>

#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

namespace fodp::testing {

// One vector per row, over all trainable parameters in the order of named_parameters().
inline std::vector<std::vector<double>> gradients_one_by_one(torch::nn::Module& model, std::int64_t rows,
                                                             const std::function<at::Tensor(std::int64_t row)>& loss) {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : model.parameters())
    if (parameter.requires_grad()) parameters.push_back(parameter);
  std::vector<std::vector<double>> gradients;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<double> flat;
    for (const at::Tensor& part : torch::autograd::grad({loss(row)}, parameters)) {
      const at::Tensor values = part.to(at::kDouble).contiguous();
      flat.insert(flat.end(), values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
    }
    gradients.push_back(std::move(flat));
  }
  return gradients;
}

inline double norm(const std::vector<double>& values) {
  double squared = 0;
  for (double value : values) squared += value * value;
  return std::sqrt(squared);
}

}  // namespace fodp::testing
