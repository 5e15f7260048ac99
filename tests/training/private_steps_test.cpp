#include "fodp/training/private_steps.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/gradients/conv.h"
#include "fodp/gradients/linear.h"
#include "fodp/mechanism/banded.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// 40 rows of three numbers; the target is a linear function of them.
struct Problem {
  at::Tensor inputs, targets;

  Problem() {
    torch::manual_seed(1);
    inputs = at::randn({40, 3});
    targets = inputs.matmul(at::ones({3, 1}));
  }
  TrainingRows rows() const {
    return {40, [this](std::span<const std::int64_t> chosen) {
              std::vector<at::Tensor> x, y;
              for (std::int64_t row : chosen) {
                x.push_back(inputs[row]);
                y.push_back(targets[row]);
              }
              return Batch{torch::stack(x), torch::stack(y)};
            }};
  }
};

template <class Net>
RowLosses squared_error(Net& net) {
  return [&net](const at::Tensor& x, const at::Tensor& y) { return (net->forward(x) - y).square().sum(1); };
}

PrivateOptions quick() {
  return {
      .method = "dp-sgd", .privacy = {.noise_multiplier = 1.0, .sample_rate = .5, .steps = 5}, .update = {.lr = .3}, .insecure_seed = 7};
}

TEST(PrivateSteps, StepByStepAndByHandAreTheSame) {
  const Problem problem;
  nn::Linear a(3, 1), b(3, 1);
  b->weight.data().copy_(a->weight);
  b->bias.data().copy_(a->bias);
  PrivateSteps whole(*a, squared_error(a), problem.rows(), quick()), by_hand(*b, squared_error(b), problem.rows(), quick());
  while (!whole.done()) whole.step();
  while (!by_hand.done()) by_hand.update(by_hand.release(by_hand.clipped_sum(by_hand.sample())));
  EXPECT_TRUE(a->weight.equal(b->weight));
  EXPECT_EQ(whole.epsilon(), by_hand.epsilon());
  EXPECT_EQ(total_count(whole.events()), 5);
}

TEST(PrivateSteps, AnOptimiserOfTorchsDescendsLikeOurs) {
  const Problem problem;
  nn::Linear a(3, 1), b(3, 1);
  b->weight.data().copy_(a->weight);
  b->bias.data().copy_(a->bias);
  PrivateSteps ours(*a, squared_error(a), problem.rows(), quick()), theirs(*b, squared_error(b), problem.rows(), quick());
  torch::optim::SGD optimizer(b->parameters(), .3);
  while (!ours.done()) {
    ours.step();
    theirs.set_gradients(theirs.release(theirs.clipped_sum(theirs.sample())));
    optimizer.step();
    EXPECT_TRUE(a->weight.allclose(b->weight, 1e-5, 1e-6));
    EXPECT_TRUE(a->bias.allclose(b->bias, 1e-5, 1e-6));
  }
}

TEST(PrivateSteps, TheBudgetIsNeverExceededHoweverManyStepsAreAsked) {
  const Problem problem;
  nn::Linear net(3, 1);
  PrivateOptions options = quick();
  options.privacy = {.epsilon = 1, .delta = 1e-3, .sample_rate = .2, .steps = 4};
  PrivateSteps steps(*net, squared_error(net), problem.rows(), options);
  while (!steps.done()) steps.step();
  EXPECT_LE(steps.epsilon(), 1);
  EXPECT_THROW(steps.step(), PrivacyError);
  EXPECT_LE(steps.epsilon(), 1);
  EXPECT_THAT(steps.statement(), AllOf(HasSubstr("one row of the training data (40"), HasSubstr("NOT PRIVATE")));
}

TEST(PrivateSteps, EpsilonHoldsWheneverTheLoopIsLeft) {
  const Problem problem;
  nn::Linear net(3, 1);
  PrivateSteps steps(*net, squared_error(net), problem.rows(), quick());
  const double planned = steps.plan().spent().epsilon;
  EXPECT_EQ(steps.epsilon(), planned);
  EXPECT_EQ(steps.epsilon_if_stop_was_fixed(), 0);
  double before = 0;
  for (int i = 0; i < 4; ++i) {
    steps.step();
    EXPECT_EQ(steps.epsilon(), planned);
    EXPECT_GT(steps.epsilon_if_stop_was_fixed(), before);
    EXPECT_LT(before = steps.epsilon_if_stop_was_fixed(), planned);
  }
  EXPECT_THAT(steps.statement(), AllOf(HasSubstr("(" + upper_text(planned)), HasSubstr("Stopped early"), HasSubstr(upper_text(before)),
                                       HasSubstr("did not depend")));
  steps.step();
  EXPECT_EQ(steps.epsilon(), planned);
  EXPECT_EQ(steps.epsilon_if_stop_was_fixed(), planned);
  EXPECT_THAT(steps.statement(), Not(HasSubstr("did not depend")));
  steps.step();  // there is no budget that would refuse it
  EXPECT_GT(steps.epsilon(), planned);
  EXPECT_EQ(steps.epsilon_if_stop_was_fixed(), steps.epsilon());
  EXPECT_THAT(steps.statement(), HasSubstr("Beyond plan"));
}

// Correlated noise covers a record that takes part once in a cycle. Two lots drawn at one turn are of the same records.
TEST(PrivateSteps, LotsOfACycleAreReleasedOnceAndInTurn) {
  const Problem problem;
  nn::Linear net(3, 1);
  PrivateOptions options = quick();
  options.method = "bandmf";
  options.privacy = {.noise_multiplier = 1.0, .sample_rate = .25, .steps = 8};
  options.own.of<BandOptions>().bands = 4;
  PrivateSteps steps(*net, squared_error(net), problem.rows(), options);
  const Lot first = steps.sample(), again = steps.sample();
  steps.update(steps.release(steps.clipped_sum(first)));
  EXPECT_THROW(steps.release(steps.clipped_sum(again)), PrivacyError);
  const Lot two_sums = steps.sample({.queries = 2});
  EXPECT_THROW(steps.release(steps.clipped_sum(two_sums)), PrivacyError);
  while (!steps.done()) steps.step();
}

// 34 layers at clip norm .7: in double the squares of their shares add up to a little less than .49.
TEST(PrivateSteps, ASumByLayersCostsWhatThePlanSays) {
  const Problem problem;
  torch::nn::Sequential net;
  for (int i = 0; i < 34; ++i) net->push_back(nn::Linear(3, 3));
  net->push_back(torch::nn::Tanh());
  PrivateOptions options = quick();
  options.clip = {.clip_norm = .7, .group_clip = GroupClip::shared};
  const RowLosses losses = [&net](const at::Tensor& x, const at::Tensor&) { return net->forward(x).square().sum(1); };
  PrivateSteps steps(*net, losses, problem.rows(), options);
  EXPECT_NO_THROW(steps.step());
}

TEST(PrivateSteps, ASecondRunOnTheSameModelGoesOnFromTheFirst) {
  const Problem problem;
  nn::Linear net(3, 1);
  PrivateSteps first(*net, squared_error(net), problem.rows(), quick());
  first.step();
  const at::Tensor after = net->weight.detach().clone();
  PrivateSteps second(*net, squared_error(net), problem.rows(), quick());
  EXPECT_TRUE(net->weight.equal(after));
  second.step();
  EXPECT_FALSE(net->weight.equal(after));
  EXPECT_THROW(first.step(), PrivacyError) << "its vector is no longer the model's";
}

TEST(PrivateSteps, DropoutTrains) {
  const Problem problem;
  torch::nn::Sequential net(nn::Linear(3, 20), torch::nn::ReLU(), torch::nn::Dropout(.5), nn::Linear(20, 1));
  PrivateSteps steps(*net, squared_error(net), problem.rows(), quick());
  const at::Tensor before = net->parameters()[0].detach().clone();
  while (!steps.done()) steps.step();
  EXPECT_FALSE(net->parameters()[0].equal(before));
}

TEST(PrivateSteps, FrozenLayersStayAndGetNoNoise) {
  const Problem problem;
  torch::nn::BatchNorm1d norm(3);
  torch::nn::Linear frozen(3, 3);
  torch::nn::Sequential net(norm, frozen, nn::Linear(3, 1));
  for (at::Tensor parameter : norm->parameters()) parameter.requires_grad_(false);
  for (at::Tensor parameter : frozen->parameters()) parameter.requires_grad_(false);
  norm->eval();
  const at::Tensor before = frozen->weight.clone(), mean = norm->running_mean.clone();
  PrivateSteps steps(*net, squared_error(net), problem.rows(), quick());
  EXPECT_EQ(steps.plan().parameters(), 4);
  while (!steps.done()) steps.step();
  EXPECT_TRUE(frozen->weight.equal(before));
  EXPECT_TRUE(norm->running_mean.equal(mean));
}

// What somebody's first module may look like; each is refused with the name of the culprit and what to do.
template <class Net>
std::string refusal(Net& net, const RowLosses& losses) {
  const Problem problem;
  try {
    PrivateSteps steps(*net, losses, problem.rows(), quick());
    while (!steps.done()) steps.step();
  } catch (const PrivacyError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(PrivateSteps, ARawTorchLayerIsRefused) {
  torch::nn::Sequential net(torch::nn::Linear(3, 2), nn::Linear(2, 1));
  EXPECT_THAT(refusal(net, squared_error(net)), AllOf(HasSubstr("'0'"), HasSubstr("fodp::nn::Linear")));
}

TEST(PrivateSteps, BatchNormIsRefused) {
  torch::nn::Sequential net(nn::Linear(3, 2), torch::nn::BatchNorm1d(2), nn::Linear(2, 1));
  EXPECT_THAT(refusal(net, squared_error(net)), AllOf(HasSubstr("'1'"), HasSubstr("GroupNorm")));
}

TEST(PrivateSteps, ASharedLayerIsRefused) {
  nn::Linear shared(3, 3);
  torch::nn::Sequential net(shared, torch::nn::Tanh(), shared);
  const RowLosses losses = [&](const at::Tensor& x, const at::Tensor&) { return net->forward(x).square().sum(1); };
  EXPECT_THAT(refusal(net, losses), AllOf(HasSubstr("'0.weight'"), HasSubstr("'2.weight'")));
  EXPECT_THAT(refusal(shared, [&](const at::Tensor& x, const at::Tensor&) { return shared->forward(shared->forward(x)).square().sum(1); }),
              AllOf(HasSubstr("'weight'"), HasSubstr("more than once")));
}

TEST(PrivateSteps, AFunctionThatMixesExamplesIsRefused) {
  nn::Linear net(3, 1);
  EXPECT_THAT(refusal(net, [&](const at::Tensor& x, const at::Tensor& y) { return (net->forward(x - x.mean(0)) - y).square().sum(1); }),
              HasSubstr("mixes examples"));
}

TEST(PrivateSteps, AnUnusedParameterIsRefused) {
  torch::nn::Sequential net(nn::Linear(3, 1), nn::Linear(3, 1));
  const RowLosses losses = [&](const at::Tensor& x, const at::Tensor& y) {
    return (net->ptr<nn::LinearImpl>(0)->forward(x) - y).square().sum(1);
  };
  EXPECT_THAT(refusal(net, losses), AllOf(HasSubstr("'1.weight'"), HasSubstr("no record")));
}

TEST(PrivateSteps, BadOptionsAreInputErrors) {
  const Problem problem;
  nn::Linear net(3, 1);
  PrivateOptions options = quick();
  options.method = "dp-sdg";
  EXPECT_THROW(PrivateSteps(*net, squared_error(net), problem.rows(), options), InputError);
  options = quick();
  options.privacy.sample_rate = 2;
  EXPECT_THROW(PrivateSteps(*net, squared_error(net), problem.rows(), options), InputError);
  EXPECT_THROW(PrivateSteps(*net, squared_error(net), {0, problem.rows().gather}, quick()), InputError);
}

TEST(PrivateSteps, LotsAndSumsOfAnotherRunAreRefused) {
  const Problem problem;
  nn::Linear a(3, 1), b(3, 1);
  PrivateSteps one(*a, squared_error(a), problem.rows(), quick()), other(*b, squared_error(b), problem.rows(), quick());
  const Lot lot = one.sample();
  EXPECT_THROW(other.clipped_sum(lot), PrivacyError);
  EXPECT_THROW(other.clipped_sum(lot, Query()), PrivacyError);
  EXPECT_THROW(other.release(one.clipped_sum(lot)), PrivacyError);
  EXPECT_EQ(total_count(other.events()), 0);
}

TEST(PrivateSteps, ASumIsReleasedOnce) {
  const Problem problem;
  nn::Linear net(3, 1);
  PrivateSteps steps(*net, squared_error(net), problem.rows(), quick());
  ClippedSum sum = steps.clipped_sum(steps.sample());
  steps.release(std::move(sum));
  EXPECT_THROW(steps.release(std::move(sum)), PrivacyError);
}

// The second query of a lot was never asked, as after an exception: the next lot begins a step of its own.
TEST(PrivateSteps, AStepThatWasLeftHalfWayIsOver) {
  const Problem problem;
  nn::Linear net(3, 1);
  PrivateOptions options = quick();
  options.method = "dp-sam";
  PrivateSteps steps(*net, squared_error(net), problem.rows(), options);
  steps.release(steps.clipped_sum(steps.sample({.queries = 2})));
  int taken = 1;
  for (; !steps.done(); ++taken) steps.step();
  EXPECT_EQ(taken, 5);
  EXPECT_EQ(total_count(steps.events()), 5);
}

}  // namespace
}  // namespace fodp
