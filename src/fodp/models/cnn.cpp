// The small convolutional network of the private-training literature (Papernot et al. 2021, "Tempered sigmoid activations"):
// Conv2d(c, 16, 8, stride 2, padding 3), activation, MaxPool2d(2, 1), Conv2d(16, 32, 4, stride 2), activation, MaxPool2d(2, 1), Flatten,
// Linear(., 32), activation, Linear(32, classes).
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include "fodp/gradients/conv.h"
#include "fodp/gradients/linear.h"
#include "fodp/models/activation.h"
#include "fodp/models/model.h"

namespace fodp {

Model make_cnn(const ModelOptions& options, const InputShape& shape) {
  const auto after = [](std::int64_t size) {
    size = (size + 2 * 3 - 8) / 2 + 1 - 1;  // convolution, then pooling
    return (size - 4) / 2 + 1 - 1;
  };
  const std::int64_t height = after(shape.height), width = after(shape.width);
  check_input(height >= 1 && width >= 1, "`model`: cnn needs images of 14 x 14 at least, got {} x {}", shape.height, shape.width);
  const auto pool = [] { return torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(2).stride(1)); };
  torch::nn::Sequential layers;
  layers->push_back(nn::Conv2d(torch::nn::Conv2dOptions(shape.channels, 16, 8).stride(2).padding(3)));
  push_activation(layers, options.activation);
  layers->push_back(pool());
  layers->push_back(nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 4).stride(2)));
  push_activation(layers, options.activation);
  layers->push_back(pool());
  layers->push_back(torch::nn::Flatten());
  layers->push_back(nn::Linear(32 * height * width, 32));
  push_activation(layers, options.activation);
  layers->push_back(nn::Linear(32, shape.classes));
  return {.module = layers.ptr(), .forward = [layers](const at::Tensor& input) mutable { return layers->forward(input); }};
}

}  // namespace fodp
