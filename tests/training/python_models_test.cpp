// docs/models.md promises Python lines that load each model.
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include "fodp/files/state_dict.h"
#include "fodp/models/model.h"
#include "python.h"

namespace fodp {
namespace {

TEST(PythonModels, TheLinesOfTheDocsLoadEveryModel) {
  const std::string python = testing::python_with("torch");
  if (python.empty()) GTEST_SKIP() << "needs Python's torch";
  const std::filesystem::path source = FODP_SOURCE_DIR;
  const auto folder = std::filesystem::temp_directory_path() / ("fodp_python_models_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  torch::manual_seed(1);
  const InputShape grey{1, 28, 28, 10}, colour{3, 32, 32, 100};
  const std::tuple<ModelKind, Activation, InputShape, const char*> cases[] = {
      {ModelKind::mlp, Activation::relu, grey, "mlp(784, 10, activation=nn.ReLU)"},
      {ModelKind::cnn, Activation::tanh, grey, "cnn(1, 10, 28)"},
      {ModelKind::cnn, Activation::relu, colour, "cnn(3, 100, 32, nn.ReLU)"},
      {ModelKind::resnet, Activation::tanh, grey, "ResNet(1, 10)"},
      {ModelKind::resnet, Activation::tanh, colour, "ResNet(3, 100)"},
  };
  for (const auto& [kind, activation, shape, expression] : cases) {
    const Model model = make_model({.model = kind, .activation = activation}, shape);
    const at::NoGradGuard no_gradients;
    for (at::Tensor parameter : model.module->parameters()) parameter.add_(.05 * torch::randn_like(parameter));
    StateDict parameters;
    for (const auto& item : model.module->named_parameters()) parameters.push_back({item.key(), item.value()});
    save_state_dict(parameters, folder / "model.pt");
    const at::Tensor inputs = torch::randn({3, shape.channels, shape.height, shape.width});
    save_state_dict({{"inputs", inputs}, {"outputs", model.forward(inputs)}}, folder / "values.pt");
    const std::string command = python + " '" + (source / "tests/training/python_loads_models.py").string() + "' '" +
                                (source / "docs/models.md").string() + "' '" + expression + "' '" + (folder / "model.pt").string() + "' '" +
                                (folder / "values.pt").string() + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << expression;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fodp
