// mlp: Flatten, Linear, activation, ..., Linear. linear: Flatten, Linear; on features of norm 1 without a bias, and from zero.
#include <ATen/core/grad_mode.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "fodp/gradients/linear.h"
#include "fodp/models/activation.h"
#include "fodp/models/model.h"

namespace fodp {

constexpr double kMostParameters = 0x1p30;  // a run holds some ten numbers for each

Model make_linear(const ModelOptions& options, const InputShape& shape) {
  ModelOptions no_hidden = options;
  no_hidden.hidden.clear();
  if (!shape.unit_norm) return make_mlp(no_hidden, shape);
  torch::nn::Sequential layers{torch::nn::Flatten(torch::nn::FlattenOptions().start_dim(-1))};
  nn::Linear linear(torch::nn::LinearOptions(shape.width, shape.classes).bias(false));
  {
    const at::NoGradGuard constant;
    linear->weight.zero_();
  }
  layers->push_back(linear);
  return {.module = layers.ptr(), .forward = [layers](const at::Tensor& input) mutable { return layers->forward(input); }};
}

Model make_mlp(const ModelOptions& options, const InputShape& shape) {
  // Of a list of numbers there is nothing to flatten; a unit may come with several of them, which stay apart.
  torch::nn::Sequential layers{shape.is_list ? torch::nn::Flatten(torch::nn::FlattenOptions().start_dim(-1)) : torch::nn::Flatten()};
  std::int64_t width = shape.channels * shape.height * shape.width;
  double count = 0, last = static_cast<double>(width);
  for (const std::int64_t hidden : options.hidden) {
    count += (last + 1) * static_cast<double>(hidden);
    last = static_cast<double>(hidden);
  }
  count += (last + 1) * static_cast<double>(shape.classes);
  check_input(count <= kMostParameters, "{}: a model with {:.3g} parameters, for {} inputs and {} outputs: at most {:.3g}",
              options.hidden.empty() ? "`model` linear" : "`hidden`", count, width, shape.classes, kMostParameters);
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
