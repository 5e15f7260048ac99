// The models that the command line trains. mlp and cnn are what torch.nn.Sequential of the same modules would be, with its state-dict names
// and order; docs/models.md has the Python lines that load each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/base/fields.h"
#include "fodp/data/rows.h"

namespace torch::nn {
class Module;
}

namespace fodp {

enum class ModelKind { mlp, linear, cnn, resnet };
enum class Activation { tanh, relu };

template <>
struct EnumNames<ModelKind> {
  static constexpr std::pair<std::string_view, ModelKind> values[] = {
      {"mlp", ModelKind::mlp}, {"linear", ModelKind::linear}, {"cnn", ModelKind::cnn}, {"resnet", ModelKind::resnet}};
};

template <>
struct EnumNames<Activation> {
  static constexpr std::pair<std::string_view, Activation> values[] = {{"tanh", Activation::tanh}, {"relu", Activation::relu}};
};

struct ModelOptions {
  ModelKind model = ModelKind::mlp;
  std::vector<std::int64_t> hidden = {64, 32};
  Activation activation = Activation::tanh;

  static auto fields() {
    return std::tuple{
        field("model", &ModelOptions::model,
              "mlp; linear: logistic regression, or least squares for a number; cnn: two convolutions and two linear layers; resnet: "
              "ResNet-20 with GroupNorm (Python lines that load each: "
              "docs/models.md)"),
        field("hidden", &ModelOptions::hidden, "hidden layers of the mlp, as 64,32", between(1, 1 << 20)),
        field("activation", &ModelOptions::activation, "tanh or relu, of mlp and cnn"),
    };
  }
};

struct InputShape {
  std::int64_t channels, height, width, classes;
  bool is_list = false;    // a row is a list of `width` numbers, not an image
  bool unit_norm = false;  // and these have norm 1: a linear model of them has no bias and starts at zero

  // Of rows with inputs of this shape, [numbers] or [channels, height, width]. InputError for any other.
  static InputShape of(std::span<const std::int64_t> row, std::int64_t outputs);
};

struct Model {
  std::shared_ptr<torch::nn::Module> module;
  // From a batch of inputs, one tensor or several, to one output for each row. A function of one at::Tensor will do where there is one.
  std::function<at::Tensor(const Tensors&)> forward;
};

// Parameters start as PyTorch's layers do, from torch's generator. InputError for options that the model cannot have.
Model make_model(const ModelOptions& options, const InputShape& shape);

// Each model's file defines one.
Model make_mlp(const ModelOptions& options, const InputShape& shape);
Model make_linear(const ModelOptions& options, const InputShape& shape);
Model make_cnn(const ModelOptions& options, const InputShape& shape);
Model make_resnet(const ModelOptions& options, const InputShape& shape);

}  // namespace fodp
