#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <torch/utils.h>

#include "clipping.h"
#include "fodp/base/check.h"
#include "fodp/gradients/mixing.h"
#include "fodp/models/model.h"
#include "gradients/agreement.h"

namespace fodp {
namespace {

const InputShape kGrey = {.channels = 1, .height = 28, .width = 28, .classes = 10};
const InputShape kColour = {.channels = 3, .height = 32, .width = 32, .classes = 10};

// Layer by layer, so that torch's generator is asked in that order.
torch::nn::Sequential reference(std::int64_t channels, std::int64_t features) {
  namespace N = torch::nn;
  N::Sequential layers;
  layers->push_back(N::Conv2d(N::Conv2dOptions(channels, 16, 8).stride(2).padding(3)));
  layers->push_back(N::Tanh());
  layers->push_back(N::MaxPool2d(N::MaxPool2dOptions(2).stride(1)));
  layers->push_back(N::Conv2d(N::Conv2dOptions(16, 32, 4).stride(2)));
  layers->push_back(N::Tanh());
  layers->push_back(N::MaxPool2d(N::MaxPool2dOptions(2).stride(1)));
  layers->push_back(N::Flatten());
  layers->push_back(N::Linear(features, 32));
  layers->push_back(N::Tanh());
  layers->push_back(N::Linear(32, 10));
  return layers;
}

TEST(Cnn, HasSequentialsNamesShapesAndInitialValues) {
  for (const auto& [shape, features, parameters] : {std::tuple{kGrey, 512, 26010}, std::tuple{kColour, 800, 37274}}) {
    torch::manual_seed(3);
    const Model ours = make_model({.model = ModelKind::cnn}, shape);
    torch::manual_seed(3);
    const auto theirs = reference(shape.channels, features);
    ASSERT_EQ(ours.module->parameters().size(), theirs->parameters().size());
    std::int64_t count = 0;
    for (const auto& item : theirs->named_parameters()) {
      EXPECT_TRUE(ours.module->named_parameters()[item.key()].equal(item.value())) << item.key();
      count += item.value().numel();
    }
    EXPECT_EQ(count, parameters);
  }
}

TEST(Cnn, ClippedSumAndNormsEqualAutogradOneByOne) {
  torch::manual_seed(4);
  const Model ours = make_model({.model = ModelKind::cnn}, kGrey);
  auto theirs = reference(1, 512);
  testing::expect_equals_one_by_one(
      *ours.module, ours.forward, *theirs, [&](const at::Tensor& x) { return theirs->forward(x); }, torch::randn({5, 1, 28, 28}), 3e-4);
}

TEST(Cnn, SmallImagesAreRefused) {
  EXPECT_THROW(make_model({.model = ModelKind::cnn}, {.channels = 1, .height = 13, .width = 28, .classes = 2}), InputError);
  EXPECT_NO_THROW(make_model({.model = ModelKind::cnn}, {.channels = 1, .height = 14, .width = 14, .classes = 2}));
}

TEST(Resnet, HasTheLayersOfResNet20) {
  torch::manual_seed(1);
  const Model model = make_model({.model = ModelKind::resnet}, kColour);
  const auto parameters = model.module->named_parameters();
  EXPECT_TRUE(parameters.contains("conv1.weight"));
  EXPECT_TRUE(parameters.contains("layer2.0.downsample.0.weight"));
  EXPECT_TRUE(parameters.contains("layer3.2.gn2.bias"));
  EXPECT_FALSE(parameters.contains("layer1.0.downsample.0.weight"));
  std::int64_t count = 0;
  for (const auto& item : parameters) count += item.value().numel();
  EXPECT_EQ(count, 272474);  // ResNet-20 with projections
  const at::NoGradGuard no_gradients;
  EXPECT_EQ(model.forward(torch::randn({2, 3, 32, 32})).sizes(), (std::vector<std::int64_t>{2, 10}));
}

TEST(Resnet, CanBeTrainedPrivately) {
  const Model model = make_model({.model = ModelKind::resnet}, kGrey);
  FlatParameters flat(*model.module);
  const testing::TestClipper clipper(
      *model.module, flat, [&](const at::Tensor& x, const at::Tensor&) { return model.forward(x).square().sum(1); }, {}, 128);
  EXPECT_NO_THROW(check_rows_do_not_mix(clipper, *model.module, {torch::zeros({1, 1, 28, 28}), at::Tensor()}));
}

}  // namespace
}  // namespace fodp
