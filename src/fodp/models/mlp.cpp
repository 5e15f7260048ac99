// Flatten, Linear, activation, ..., Linear.
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "fodp/gradients/linear.h"
#include "fodp/models/activation.h"
#include "fodp/models/model.h"

namespace fodp {

Model make_mlp(const ModelOptions& options, const InputShape& shape) {
  torch::nn::Sequential layers{torch::nn::Flatten()};
  std::int64_t width = shape.channels * shape.height * shape.width;
  for (std::int64_t hidden : options.hidden) {
    check_input(hidden >= 1, "`hidden`: {} is not allowed; a layer has at least 1 unit", hidden);
    layers->push_back(nn::Linear(width, hidden));
    push_activation(layers, options.activation);
    width = hidden;
  }
  layers->push_back(nn::Linear(width, shape.classes));
  return {.module = layers.ptr(), .forward = [layers](const at::Tensor& input) mutable { return layers->forward(input); }};
}

}  // namespace fodp
