#include "fodp/gradients/tape.h"

#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "clipping.h"
#include "fodp/base/check.h"
#include "fodp/gradients/clip.h"
#include "fodp/gradients/linear.h"

namespace fodp {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string refusal_of(const std::function<void()>& body) {
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
  EXPECT_THAT(refusal_of([&] { check_model(*model); }),
              AllOf(HasSubstr("'1'"), HasSubstr("BatchNorm1d"), HasSubstr("fodp::nn::GroupNorm")));
}

TEST(CheckModel, RefusesBatchNormWithoutParametersToo) {
  torch::nn::Sequential model(nn::Linear(3, 4), torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(4).affine(false)));
  EXPECT_THAT(refusal_of([&] { check_model(*model); }), HasSubstr("BatchNorm1d"));
}

TEST(CheckModel, AllowsFrozenBatchNormInEvalMode) {
  torch::nn::BatchNorm1d norm(4);
  for (at::Tensor& parameter : norm->parameters()) parameter.requires_grad_(false);
  norm->eval();
  EXPECT_NO_THROW(check_model(*torch::nn::Sequential(nn::Linear(3, 4), norm)));
}

TEST(CheckModel, RefusesATorchLayerByNameWithOurs) {
  torch::nn::Sequential model(nn::Linear(3, 4), torch::nn::Linear(4, 2));
  EXPECT_THAT(refusal_of([&] { check_model(*model); }), AllOf(HasSubstr("'1'"), HasSubstr("weight"), HasSubstr("fodp::nn::Linear")));
}

struct RawParameter : torch::nn::Module {
  RawParameter() { scale = register_parameter("scale", torch::ones(1)); }
  at::Tensor forward(const at::Tensor& x) { return scale * x; }
  at::Tensor scale;
};

TEST(CheckModel, RefusesAParameterOfTheUsersOwnModule) {
  const auto model = std::make_shared<RawParameter>();
  EXPECT_THAT(refusal_of([&] { check_model(*model); }), AllOf(HasSubstr("'scale'"), HasSubstr("the model itself")));
}

// Each on a line of its own, with its remedy; what FlatParameters would refuse, too.
TEST(CheckModel, ListsEveryProblemWithItsRemedy) {
  nn::Linear of_doubles(2, 1);
  of_doubles->to(at::kDouble);
  torch::nn::Sequential model(torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4), nn::Linear(4, 2), RawParameter(), of_doubles);
  const std::string text = refusal_of([&] { check_model(*model); });
  EXPECT_THAT(text, StartsWith("the model cannot be trained privately, for 5 reasons:\n"));
  std::vector<std::string> lines;
  for (std::istringstream in(text); std::getline(in, lines.emplace_back());) {
  }
  lines.pop_back();
  EXPECT_THAT(lines, ElementsAre(_, AllOf(HasSubstr("'0'"), HasSubstr("'weight', 'bias'"), HasSubstr("use fodp::nn::Linear")),
                                 AllOf(HasSubstr("'1'"), HasSubstr("mixes"), HasSubstr("fodp::nn::GroupNorm")),
                                 AllOf(HasSubstr("'3'"), HasSubstr("'scale'"), HasSubstr("requires_grad_(false)")),
                                 AllOf(HasSubstr("'4.weight' is Double"), HasSubstr("torch::kFloat32")), HasSubstr("'4.bias'")));
}

TEST(CheckModel, OneProblemIsOneLine) {
  torch::nn::Sequential model(nn::Linear(3, 4), torch::nn::BatchNorm1d(4));
  EXPECT_THAT(refusal_of([&] { check_model(*model); }),
              AllOf(StartsWith("layer '1' (torch::nn::BatchNorm1dImpl) cannot be trained privately: it mixes"), Not(HasSubstr("\n"))));
}

// Runs one block of three rows through the clipper.
std::string clipping(torch::nn::Module& model, const RowLosses& losses) {
  FlatParameters flat(model);
  const testing::TestClipper clipper(model, flat, losses, {}, 128);
  return refusal_of([&] {
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
              AllOf(HasSubstr("weight"), HasSubstr("more than once")));
}

TEST(Tape, AnOrdinaryGradientOnTheSideIsRefused) {
  nn::Linear layer(3, 1);
  EXPECT_THAT(
      clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).squeeze(1) + layer->weight.square().sum(); }),
      AllOf(HasSubstr("weight"), HasSubstr("ordinary gradient")));
}

TEST(Tape, AnOrdinaryGradientReachesNoGrad) {
  nn::Linear layer(3, 1);
  clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return at::linear(x, layer->weight, layer->bias).squeeze(1); });
  EXPECT_FALSE(layer->weight.grad().defined());
  EXPECT_FALSE(layer->bias.grad().defined());
}

TEST(Tape, ATrainableTensorOutsideTheModelIsRefused) {
  nn::Linear layer(3, 2);
  torch::nn::Linear head(2, 1);
  EXPECT_THAT(clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return head->forward(layer->forward(x)).squeeze(1); }),
              AllOf(HasSubstr("[1, 2]"), HasSubstr("not a parameter of the model")));
  EXPECT_FALSE(head->weight.grad().defined());
}

TEST(Tape, ALossWithoutAGraphIsRefused) {
  nn::Linear layer(3, 1);
  EXPECT_THAT(clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).squeeze(1).detach(); }),
              HasSubstr("no trainable parameter"));
}

// As after an optimiser's step: what was there before is neither private rows nor touched.
TEST(Tape, AGradientFromBeforeIsNoMatter) {
  nn::Linear layer(3, 1);
  layer->weight.mutable_grad() = at::ones({1, 3});
  EXPECT_EQ(clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).squeeze(1); }), "not refused");
  EXPECT_TRUE(layer->weight.grad().equal(at::ones({1, 3})));
}

TEST(Tape, AWeightComputedFromAParameterIsRefused) {
  nn::Linear layer(3, 1);
  EXPECT_THAT(clipping(*layer, [&](const at::Tensor& x,
                                   const at::Tensor&) { return recorded_linear(x, 2 * layer->weight, layer->bias).squeeze(1); }),
              AllOf(HasSubstr("[1, 3]"), HasSubstr("not a parameter")));
}

TEST(Tape, RowsFoldedIntoPositionsAreRefused) {
  nn::Linear layer(1, 1);
  EXPECT_THAT(clipping(*layer,
                       [&](const at::Tensor& x, const at::Tensor&) {
                         return layer->forward(x.reshape({-1, 1})).view({-1, 3}).sum(1);
                       }),
              AllOf(HasSubstr("weight"), HasSubstr("rows in its first dimension")));
}

// Training mode that is switched on after the model was accepted.
TEST(Tape, BatchNormPutIntoTrainingModeLaterIsRefused) {
  torch::nn::BatchNorm1d norm(torch::nn::BatchNorm1dOptions(3).affine(false));
  torch::nn::Sequential model(norm, nn::Linear(3, 1));
  norm->eval();
  FlatParameters flat(*model);
  const testing::TestClipper clipper(
      *model, flat, [&](const at::Tensor& x, const at::Tensor&) { return model->forward(x).squeeze(1); }, {}, 128);
  const auto sum = [&] {
    clipper.clipped_sum({{0, 1}}, 1, [](std::span<const std::int64_t> rows) {
      return Batch{at::ones({std::ssize(rows), 3}), at::Tensor()};
    });
  };
  EXPECT_NO_THROW(sum());
  model->train();
  EXPECT_THAT(refusal_of(sum), HasSubstr("BatchNorm1d"));
}

struct Remembers : torch::nn::Module {
  Remembers() {
    seen = register_buffer("seen", torch::zeros(3));
    layer = register_module("layer", nn::Linear(3, 1));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::NoGradGuard no_gradients;
    seen.add_(x.sum(0));
    const at::AutoGradMode gradients(true);
    return layer->forward(x).squeeze(1);
  }
  at::Tensor seen;
  nn::Linear layer = nullptr;
};

TEST(Tape, ABufferThatTheForwardPassChangesIsRefused) {
  auto model = std::make_shared<Remembers>();
  EXPECT_THAT(clipping(*model, [&](const at::Tensor& x, const at::Tensor&) { return model->forward(x); }),
              AllOf(HasSubstr("'seen'"), HasSubstr("changed by the forward pass")));
}

struct Averages : torch::nn::Module {
  Averages() {
    mean = register_parameter("mean", torch::zeros(3), /*requires_grad=*/false);
    layer = register_module("layer", nn::Linear(3, 1));
  }
  at::Tensor forward(const at::Tensor& x) {
    mean.mul_(.9).add_(x.mean(0), .1);
    return layer->forward(x).squeeze(1);
  }
  at::Tensor mean;
  nn::Linear layer = nullptr;
};

TEST(Tape, AFrozenParameterThatTheForwardPassChangesIsRefused) {
  auto model = std::make_shared<Averages>();
  EXPECT_THAT(clipping(*model, [&](const at::Tensor& x, const at::Tensor&) { return model->forward(x); }),
              AllOf(HasSubstr("'mean'"), HasSubstr("changed by the forward pass")));
}

TEST(Tape, ALossThatIsNotOnePerRowIsRefused) {
  nn::Linear layer(3, 1);
  EXPECT_THAT(clipping(*layer, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).mean(); }), HasSubstr("per row"));
}

}  // namespace
}  // namespace fodp
