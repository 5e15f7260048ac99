#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/gradients/mixing.h"
#include "fodp/gradients/tape.h"
#include "fodp/models/model.h"

namespace fodp {
namespace {

const InputShape kSmall = {.channels = 1, .height = 2, .width = 3, .classes = 4};

TEST(Mlp, HasSequentialsNamesAndShapes) {
  const Model model = make_model({.hidden = {5, 3}}, kSmall);
  std::vector<std::string> names;
  for (const auto& item : model.module->named_parameters()) names.push_back(item.key());
  EXPECT_EQ(names, (std::vector<std::string>{"1.weight", "1.bias", "3.weight", "3.bias", "5.weight", "5.bias"}));
  EXPECT_EQ(model.module->named_parameters()["3.weight"].sizes(), (std::vector<std::int64_t>{3, 5}));
}

TEST(Mlp, ProducesPyTorchValues) {
  for (Activation activation : {Activation::tanh, Activation::relu}) {
    torch::manual_seed(3);
    const Model ours = make_model({.hidden = {5}, .activation = activation}, kSmall);
    torch::manual_seed(3);
    torch::nn::Sequential theirs(torch::nn::Flatten(), torch::nn::Linear(6, 5));
    if (activation == Activation::tanh) theirs->push_back(torch::nn::Tanh());
    if (activation == Activation::relu) theirs->push_back(torch::nn::ReLU());
    theirs->push_back(torch::nn::Linear(5, 4));
    const at::Tensor x = torch::randn({7, 1, 2, 3});
    EXPECT_TRUE(ours.forward(x).equal(theirs->forward(x)));
  }
}

TEST(Mlp, WithoutHiddenLayersIsLinear) {
  const Model model = make_model({.hidden = {}}, kSmall);
  EXPECT_EQ(model.module->parameters().size(), 2u);
}

TEST(Mlp, CanBeTrainedPrivately) {
  const Model model = make_model({}, kSmall);
  EXPECT_NO_THROW(check_model(*model.module));
  EXPECT_NO_THROW(check_examples_do_not_mix(model.forward, std::vector<std::int64_t>{1, 2, 3}));
}

TEST(Mlp, ALayerWithoutUnitsIsRefused) { EXPECT_THROW(make_model({.hidden = {0}}, kSmall), InputError); }

}  // namespace
}  // namespace fodp
