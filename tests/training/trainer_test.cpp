#include "fodp/training/trainer.h"

#include <cmath>

#include <ATen/Context.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "fodp/base/check.h"
#include "fodp/gradients/linear.h"
#include "fodp/training/evaluate.h"
#include "gradients/one_by_one.h"
#include "mechanism/dense_fractional.h"
#include "training/small_data.h"

namespace fodp {
namespace {

using namespace fodp::testing;

TrainOptions small_options() {
  TrainOptions options;
  options.data.data = "mnist";
  options.model.hidden = {6, 5};
  options.privacy.sample_rate = .3;
  options.privacy.steps = 6;
  options.privacy.noise_multiplier = 1;
  options.privacy.epsilon.reset();
  options.update.lr = .8;
  options.insecure_seed = 4;
  options.speed.threads = 2;
  return options;
}

std::vector<float> trained(const TrainOptions& options, const Dataset& data) {
  Trainer trainer(make_plan(options, {data.train.size(), data.test.size()}), data);
  trainer.run();
  std::vector<float> values;
  for (const NamedTensor& part : trainer.state())
    values.insert(values.end(), part.value.data_ptr<float>(), part.value.data_ptr<float>() + part.value.numel());
  return values;
}

// Algorithm 1 with full lots and no noise: per-example gradients one by one in double, dense memory. Gives the parameters' change.
Vector algorithm_one(const TrainOptions& options, const Dataset& data, const std::vector<float>& start) {
  torch::nn::Sequential model(torch::nn::Flatten(), torch::nn::Linear(784, 6), torch::nn::Tanh(), torch::nn::Linear(6, 5),
                              torch::nn::Tanh(), torch::nn::Linear(5, 10));
  model->to(at::kDouble);
  Vector theta(start.begin(), start.end());
  const Vector first = theta;
  const std::int64_t rows = data.train.size();
  std::vector<std::int64_t> all(rows);
  for (std::int64_t i = 0; i < rows; ++i) all[i] = i;
  const at::Tensor inputs = data.train.inputs(all).to(at::kDouble), targets = data.train.targets(all);
  const double clip = options.clip.clip_norm;
  DenseFractional memory(resolve(options.own.of<FractionalOptions>(), clip, 0));
  for (std::int64_t t = 0; t < *options.privacy.steps; ++t) {
    std::int64_t offset = 0;
    {
      at::NoGradGuard guard;
      for (at::Tensor parameter : model->parameters()) {
        std::copy_n(theta.data() + offset, parameter.numel(), parameter.data_ptr<double>());
        offset += parameter.numel();
      }
    }
    Vector sum(theta.size(), 0.0);
    for (const Vector& gradient : gradients_one_by_one(*model, rows, [&](std::int64_t row) {
           return objective_table()
               .front()
               ->row_losses(model->forward(inputs.slice(0, row, row + 1)), targets.slice(0, row, row + 1))
               .sum();
         })) {
      const double length = testing::norm(gradient);
      const double factor = options.stages.clipping.value_or("flat") == "flat" ? std::min(1.0, clip / length) : clip / (length + .01);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += factor * gradient[k];
    }
    const Vector released = memory.release(sum, Vector(sum.size(), 0.0));
    for (std::size_t k = 0; k < sum.size(); ++k)
      theta[k] -= learning_rate(*options.update.lr, options.update.lr_decay, t, *options.privacy.steps) * released[k] / double(rows);
  }
  for (std::size_t k = 0; k < theta.size(); ++k) theta[k] -= first[k];
  return theta;
}

TEST(Trainer, FollowsAlgorithmOneForEveryKernel) {
  const Dataset data = small_data(25, 10);
  TrainOptions options = small_options();
  options.privacy.sample_rate = 1;
  options.privacy.noise_multiplier = 0;
  options.run.init_seed = 7;
  TrainOptions idle = options;
  idle.update.lr = 0;
  idle.privacy.steps = 1;
  const std::vector<float> start = trained(idle, data);

  std::vector<TrainOptions> cases;
  for (Kernel kernel : {Kernel::current, Kernel::uniform, Kernel::exponential, Kernel::tempered, Kernel::confidence, Kernel::grunwald})
    for (std::int64_t origin : {0, 1}) {
      TrainOptions c = options;
      c.own.of<FractionalOptions>().kernel = kernel;
      c.own.of<FractionalOptions>().lag_origin = origin;
      cases.push_back(c);
      c.own.of<FractionalOptions>() = {.alpha = .4,
                                       .window = 3,
                                       .lambda = .3,
                                       .tau = .8,
                                       .gamma = .6,
                                       .kappa = 2,
                                       .zeta = ConfidenceScale{.value = 9},
                                       .stability = .2,
                                       .kernel = kernel,
                                       .kernel_decay = .7,
                                       .lag_origin = origin};
      if (kernel != Kernel::current) c.own.of<FractionalOptions>().beta = .55;
      c.clip.clip_norm = .4;
      c.update.lr_decay = LearningRateDecay::cosine;
      cases.push_back(c);
    }
  cases.push_back(options);
  cases.back().stages.clipping = "automatic";

  for (const TrainOptions& c : cases) {
    const Vector expected = algorithm_one(c, data, start);
    const std::vector<float> end = trained(c, data);
    double squared = 0;
    for (std::size_t k = 0; k < end.size(); ++k) squared += std::pow(end[k] - start[k] - expected[k], 2);
    EXPECT_LT(std::sqrt(squared), 1e-4 * testing::norm(expected))
        << enum_name(c.own.of<FractionalOptions>().kernel) << " " << c.own.of<FractionalOptions>().lag_origin;
  }
}

TEST(Trainer, BetaOneIsDpSgdBitForBit) {
  const Dataset data = small_data();
  TrainOptions plain = small_options(), memory = plain;
  plain.method = "dp-sgd";
  memory.own.of<FractionalOptions>().beta = 1;
  EXPECT_EQ(trained(plain, data), trained(memory, data));
  memory.own.of<FractionalOptions>().beta = .9;
  EXPECT_NE(trained(plain, data), trained(memory, data));
}

TEST(Trainer, ASeedRepeatsBitForBitAtAnyNumberOfThreads) {
  const Dataset data = small_data(400, 20);
  TrainOptions options = small_options();
  const auto first = trained(options, data);
  EXPECT_EQ(first, trained(options, data));
  for (std::int64_t threads : {1, 3}) {
    options.speed.threads = threads;
    EXPECT_EQ(first, trained(options, data)) << threads;
  }
  options.insecure_seed = 5;
  options.run.init_seed = 4;  // the same start, other noise
  EXPECT_NE(first, trained(options, data));
}

// Two keys are the same by chance once in 2^256.
TEST(Trainer, WithoutASeedNoiseIsFresh) {
  const Dataset data = small_data();
  TrainOptions options = small_options();
  options.insecure_seed.reset();
  options.run.init_seed = 4;
  EXPECT_NE(trained(options, data), trained(options, data));
}

TEST(Trainer, PhysicalBatchChangesRoundingOnly) {
  const Dataset data = small_data(400, 20);
  TrainOptions options = small_options();
  const auto large = trained(options, data);
  options.speed.physical_batch = 7;
  const auto small = trained(options, data);
  double difference = 0, scale = 0;
  for (std::size_t k = 0; k < large.size(); ++k) {
    difference += std::pow(large[k] - small[k], 2);
    scale += std::pow(large[k], 2);
  }
  EXPECT_LT(std::sqrt(difference), 1e-5 * std::sqrt(scale));
}

TEST(Trainer, EveryStepIsChargedEmptyLotsToo) {
  const Dataset data = small_data(20, 10);
  TrainOptions options = small_options();
  options.privacy.sample_rate = .001;
  options.privacy.steps = 40;
  Trainer trainer(make_plan(options, {20, 10}), data);
  const Plan& plan = trainer.plan();
  const Result result = trainer.run();
  EXPECT_EQ(total_count(result.events), 40);
  EXPECT_EQ(result.events, plan.events());
  EXPECT_EQ(result.spent.epsilon, plan.spent().epsilon);
}

// Whether a run goes on most often depends on its results, which tell of the data.
TEST(Trainer, StoppingEarlyGuaranteesWhatThePlanDoes) {
  const Dataset data = small_data();
  Trainer trainer(make_plan(small_options(), {60, 40}), data);
  const Plan& plan = trainer.plan();
  const Result result = trainer.run({.stepped = [](const Progress& progress) { return progress.step < 2; }});
  EXPECT_EQ(result.steps, 2);
  EXPECT_EQ(result.events, plan.events());
  EXPECT_EQ(result.spent.epsilon, plan.spent().epsilon);
  EXPECT_EQ(total_count(result.charged), 2);
  EXPECT_LT(result.epsilon_if_stop_was_fixed, plan.spent().epsilon);
  EXPECT_EQ(result.evaluations.back().epsilon, result.epsilon_if_stop_was_fixed);
  EXPECT_EQ(result.evaluations.back().step, 2);
}

TEST(Trainer, DiagnosticsAppearOnlyWhenAskedFor) {
  const Dataset data = small_data();
  TrainOptions options = small_options();
  EXPECT_FALSE(Trainer(make_plan(options, {60, 40}), data).run().evaluations.back().insecure);
  options.insecure_diagnostics = true;
  const Result result = Trainer(make_plan(options, {60, 40}), data).run();
  ASSERT_TRUE(result.evaluations.back().insecure);
  EXPECT_GT(result.evaluations.back().insecure->mean_norm, 0);
  EXPECT_GT(result.evaluations.back().insecure->parts->noise, 0);
  EXPECT_GT(result.evaluations.back().insecure->parts->memory, 0);
}

TEST(Trainer, LearnsWhatIsEasy) {
  const Dataset data = small_data(2000, 200);
  TrainOptions options = small_options();
  options.privacy.steps = 60;
  options.privacy.sample_rate = .1;
  const Result result = Trainer(make_plan(options, {2000, 200}), data).run();
  EXPECT_GT(result.evaluations.back().test_metric, .7);  // chance is .1
}

// A model of two inputs, an image and a number beside it; the rows it is tested on are of the same kind.
TEST(Trainer, TakesRowsOfSeveralInputs) {
  at::manual_seed(1);
  const auto rows = [](std::int64_t count) {
    at::Tensor x = at::randn({count, 6}), extra = at::randn({count, 2});
    return TensorRows(Tensors{x, extra}, (x.sum(1, /*keepdim=*/true) + extra.select(1, 0).unsqueeze(1)).contiguous());
  };
  const TensorRows train = rows(300), test = rows(100);
  torch::nn::Sequential layers(nn::Linear(8, 1));
  TrainOptions options = small_options();
  options.privacy.steps = 40;
  options.privacy.sample_rate = .2;
  const auto model = [&] {
    return Model{.module = layers.ptr(), .forward = [&](const Tensors& inputs) {
                   return layers->forward(at::cat({inputs[0], inputs[1]}, 1));
                 }};
  };
  const auto plan = [&](std::int64_t tested) { return make_plan(options, {.sizes = {300, tested}, .row_shape = {6}}, *layers); };
  Trainer trainer(plan(100), train, test, model());
  EXPECT_GT(trainer.run().evaluations.back().test_metric, .2) << "R2 of a line that is there";
  EXPECT_THROW(Trainer(plan(99), train, test, model()), InputError);
  const TensorRows narrow(Tensors{at::randn({100, 5}), at::randn({100, 2})}, at::randn({100, 1}));
  EXPECT_THROW(Trainer(plan(100), train, narrow, model()), InputError);
  Plan once = plan(100);
  const Plan moved = std::move(once);
  EXPECT_THROW(Trainer(std::move(once), train, test, model()), InputError);
}

TEST(Evaluate, CountsByHand) {
  const Examples test = small_examples(5, 1);
  const Model model{.forward = [](const at::Tensor& x) {
    at::Tensor outputs = at::zeros({x.size(0), 10});
    outputs.select(1, 3).fill_(100);
    return outputs;
  }};
  const auto threes = std::count(test.labels().begin(), test.labels().end(), 3);
  const TestResult result = evaluate(model, test, *objective_table().front());
  EXPECT_DOUBLE_EQ(result.metric, double(threes) / 5);
  EXPECT_NEAR(result.loss, 100.0 * double(5 - threes) / 5, 1e-3);
}

// Dropout is off while a model is tested, and every part is back in its own mode afterwards.
TEST(Evaluate, RunsInEvalModeAndRestoresEachModule) {
  torch::nn::Dropout dropout(.9), off(.5);
  torch::nn::Sequential layers(torch::nn::Flatten(), dropout, torch::nn::Linear(784, 10), off);
  off->eval();
  const Model model{.module = layers.ptr(), .forward = [&](const at::Tensor& x) { return layers->forward(x); }};
  const Examples test = small_examples(5, 1);
  EXPECT_EQ(evaluate(model, test, *objective_table().front()).loss, evaluate(model, test, *objective_table().front()).loss);
  EXPECT_TRUE(layers->is_training());
  EXPECT_TRUE(dropout->is_training());
  EXPECT_FALSE(off->is_training());
}

}  // namespace
}  // namespace fodp
