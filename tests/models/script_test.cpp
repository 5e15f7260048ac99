// Models as TorchScript compute what they compute here.
#include <sstream>

#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/nn/modules/dropout.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/models/model.h"
#include "fodp/models/script.h"

namespace fodp {
namespace {

TEST(Script, EveryModelGivesTheSameOutputsAfterASaveAndALoad) {
  torch::manual_seed(3);
  const at::NoGradGuard no_gradients;
  const InputShape grey{1, 28, 28, 10}, colour{3, 32, 32, 7}, list{1, 1, 12, 3, /*is_list=*/true};
  for (const auto& [kind, name] :
       {std::pair{ModelKind::mlp, "mlp"}, {ModelKind::linear, "linear"}, {ModelKind::cnn, "cnn"}, {ModelKind::resnet, "resnet"}})
    for (const Activation activation : {Activation::tanh, Activation::relu})
      for (const InputShape& shape : {grey, colour, list}) {
        if (shape.is_list && (kind == ModelKind::cnn || kind == ModelKind::resnet)) continue;
        const Model model = make_model({.model = kind, .activation = activation}, shape);
        for (at::Tensor parameter : model.module->parameters()) parameter.add_(.05 * torch::randn_like(parameter));
        std::stringstream file;
        to_script(*model.module).save(file);
        torch::jit::Module loaded = torch::jit::load(file);
        const at::Tensor x = shape.is_list ? torch::randn({5, 12}) : torch::randn({5, shape.channels, shape.height, shape.width});
        const at::Tensor expected = model.forward(x), got = loaded.forward({x}).toTensor();
        EXPECT_EQ(got.sizes(), expected.sizes()) << name;
        EXPECT_LT((got - expected).abs().max().item<double>(), 1e-5) << name << " " << enum_name(activation);
        EXPECT_GT((got - expected.flip(0)).abs().max().item<double>(), 1e-3) << "the rows differ";
        // Names are those of the state dict.
        std::vector<std::string> names;
        for (const auto& item : loaded.named_parameters()) names.push_back(item.name);
        const auto own = model.module->named_parameters();
        EXPECT_EQ(names.size(), own.size());
        for (const std::string& one : names) EXPECT_TRUE(own.contains(one)) << one;
      }
}

TEST(Script, ALayerThatNoModelHasIsRefused) { EXPECT_THROW(to_script(*torch::nn::Dropout().ptr()), FaultError); }

}  // namespace
}  // namespace fodp
