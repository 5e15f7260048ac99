#include "fodp/gradients/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "fodp/base/check.h"
#include "fodp/gradients/clip.h"
#include "fodp/gradients/linear.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const PrivacyError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(CheckModel, AcceptsOurLayersAndWhatHasNoParameters) {
  EXPECT_NO_THROW(check_model(*torch::nn::Sequential(torch::nn::Flatten(), nn::Linear(3, 4), torch::nn::Tanh(), nn::Linear(4, 2))));
}

TEST(CheckModel, RefusesBatchNormByNameWithWhatToUse) {
  torch::nn::Sequential model(nn::Linear(3, 4), torch::nn::BatchNorm1d(4));
  EXPECT_THAT(refusal([&] { check_model(*model); }), AllOf(HasSubstr("'1'"), HasSubstr("BatchNorm1d"), HasSubstr("group or layer norm")));
}

TEST(CheckModel, RefusesBatchNormWithoutParametersToo) {
  torch::nn::Sequential model(nn::Linear(3, 4), torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(4).affine(false)));
  EXPECT_THAT(refusal([&] { check_model(*model); }), HasSubstr("BatchNorm1d"));
}

TEST(CheckModel, AllowsFrozenBatchNormInEvalMode) {
  torch::nn::BatchNorm1d norm(4);
  for (at::Tensor& parameter : norm->parameters()) parameter.requires_grad_(false);
  norm->eval();
  EXPECT_NO_THROW(check_model(*torch::nn::Sequential(nn::Linear(3, 4), norm)));
}

TEST(CheckModel, RefusesATorchLayerByNameWithOurs) {
  torch::nn::Sequential model(nn::Linear(3, 4), torch::nn::Linear(4, 2));
  EXPECT_THAT(refusal([&] { check_model(*model); }), AllOf(HasSubstr("'1'"), HasSubstr("weight"), HasSubstr("fodp::nn::Linear")));
}

struct RawParameter : torch::nn::Module {
  RawParameter() { scale = register_parameter("scale", torch::ones(1)); }
  at::Tensor scale;
};

TEST(CheckModel, RefusesAParameterOfTheUsersOwnModule) {
  const auto model = std::make_shared<RawParameter>();
  EXPECT_THAT(refusal([&] { check_model(*model); }), AllOf(HasSubstr("'scale'"), HasSubstr("the model itself")));
}

// Runs one block of three rows through the clipper.
std::string clipping(torch::nn::Module& model, const RowLosses& losses) {
  FlatParameters flat(model);
  const Clipper clipper(model, flat, losses, {}, 128);
  return refusal([&] {
    clipper.clipped_sum({{0, 1, 2}}, 1, [](std::span<const std::int64_t> rows) {
      return Batch{at::ones({static_cast<std::int64_t>(rows.size()), 3}), at::Tensor()};
    });
  });
}

TEST(Tape, AParameterThatTheLossDoesNotUseIsRefused) {
  torch::nn::Sequential model(nn::Linear(3, 1), nn::Linear(3, 1));
  auto first = model->ptr<nn::LinearImpl>(0);
  EXPECT_THAT(clipping(*model, [&](const at::Tensor& x, const at::Tensor&) { return first->forward(x).squeeze(1); }),
              AllOf(HasSubstr("1.weight"), HasSubstr("no record")));
}

TEST(Tape, ALayerUsedTwiceIsRefused) {
  nn::Linear layer(3, 3);
  EXPECT_THAT(clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(layer->forward(x)).sum(1); }),
              AllOf(HasSubstr("weight"), HasSubstr("2 times")));
}

TEST(Tape, AnOrdinaryGradientOnTheSideIsRefused) {
  nn::Linear layer(3, 1);
  EXPECT_THAT(
      clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).squeeze(1) + layer->weight.square().sum(); }),
      AllOf(HasSubstr("weight"), HasSubstr("ordinary gradient")));
}

TEST(Tape, ALossThatIsNotOnePerRowIsRefused) {
  nn::Linear layer(3, 1);
  EXPECT_THAT(clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).mean(); }), HasSubstr("per row"));
}

}  // namespace
}  // namespace fodp
