// Data that nobody hopes for: rows that are not numbers, rows that are all alike, one class, one row, no row. A run trains on what is there
// or refuses before its first step, and its parameters stay finite.
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>

#include "fodp/base/check.h"
#include "fodp/gradients/linear.h"
#include "fodp/training/private_steps.h"
#include "fodp/training/trainer.h"
#include "small_data.h"

namespace fodp {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

struct Data {
  at::Tensor inputs, targets;

  TrainingRows rows() const {
    return {inputs.size(0), [this](std::span<const std::int64_t> chosen) {
              const at::Tensor which = at::tensor(at::ArrayRef<std::int64_t>(chosen.data(), chosen.size()), at::kLong);
              return Batch{inputs.index_select(0, which), targets.index_select(0, which)};
            }};
  }
};

Data usual_data(std::int64_t rows = 30) {
  at::manual_seed(1);
  return {at::randn({rows, 4}), at::arange(rows).remainder(3)};
}

// The parameters after a few steps of every method on these rows; an infinite number in them is a failure.
void expect_trains(const Data& data, const char* what, std::optional<double> count_noise = {}) {
  for (const MethodEntry* method : method_table()) {
    at::manual_seed(2);
    nn::Linear layer(4, 3);
    PrivateOptions options{.method = std::string(method->name), .insecure_seed = 5};
    options.privacy = {.noise_multiplier = .7, .delta = 1e-5, .sample_rate = .25, .steps = 6};
    if (count_noise) options.set("count-noise", std::to_string(*count_noise));
    PrivateSteps steps(
        *layer,
        [&](const at::Tensor& x, const at::Tensor& y) {
          return torch::nn::functional::cross_entropy(layer->forward(x), y,
                                                      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
        },
        data.rows(), options);
    while (!steps.done()) steps.step();
    for (const float value : steps.parameters()) ASSERT_TRUE(std::isfinite(value)) << what << ", " << method->name;
  }
}

TEST(OddData, RowsThatAreNotNumbersCountZero) {
  for (const float bad : {kNan, kInfinity, -kInfinity, std::numeric_limits<float>::max()}) {
    Data data = usual_data();
    data.inputs[3][1] = bad;
    data.inputs[17] = at::full({4}, bad);
    expect_trains(data, "some rows are not numbers");
  }
  Data all = usual_data();
  all.inputs.fill_(kNan);
  expect_trains(all, "no row is a number");
}

TEST(OddData, TheOthersKeepTheirSumBesideARowThatIsNotANumber) {
  const auto parameters_after = [](float value) {
    at::manual_seed(2);
    Data data = usual_data();
    data.inputs[3] = at::full({4}, value);
    nn::Linear layer(4, 3);
    PrivateOptions options{.method = "dp-sgd", .insecure_seed = 5};
    options.privacy = {.noise_multiplier = 1.0, .delta = 1e-5, .sample_rate = 1, .steps = 3};
    PrivateSteps steps(
        *layer,
        [&](const at::Tensor& x, const at::Tensor& y) {
          return torch::nn::functional::cross_entropy(layer->forward(x), y,
                                                      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
        },
        data.rows(), options);
    while (!steps.done()) steps.step();
    return std::vector<float>(steps.parameters().begin(), steps.parameters().end());
  };
  EXPECT_EQ(parameters_after(kNan), parameters_after(kInfinity));
  EXPECT_NE(parameters_after(kNan), parameters_after(1));
}

TEST(OddData, ConstantRowsOneClassAndOneRowTrain) {
  Data constant = usual_data();
  constant.inputs.zero_();
  expect_trains(constant, "all rows are zero");
  constant.inputs.fill_(7);
  constant.targets.zero_();
  expect_trains(constant, "all rows are the same");
  Data one_class = usual_data();
  one_class.targets.fill_(2);
  expect_trains(one_class, "one class");
  expect_trains(usual_data(1), "one row", /*count_noise=*/1);  // its default follows from the lot, and is too little for one row
}

TEST(OddData, LabelsOutOfRangeCountZero) {
  Data data = usual_data();
  data.targets[4] = 3;
  data.targets[5] = -1;
  expect_trains(data, "labels out of range");
}

TEST(OddData, NoRowIsRefusedBeforeTheFirstStep) {
  nn::Linear layer(4, 3);
  const Data none{at::zeros({0, 4}), at::zeros({0}, at::kLong)};
  EXPECT_THROW(PrivateSteps(
                   *layer, [&](const at::Tensor& x, const at::Tensor&) { return layer->forward(x).sum(1); }, none.rows(), PrivateOptions{}),
               InputError);
  EXPECT_THROW(TensorRows(none.inputs, none.targets, 3), InputError);
}

// The whole way of a named data set, test rows included.
TEST(OddData, ATrainerTakesOneClassOneExampleAndConstantImages) {
  for (const std::int64_t train : {1, 25}) {
    const DataFormat& format = find_data_source("mnist").format;
    const auto examples = [&](std::int64_t count, std::uint8_t pixel) {
      return Examples(format, std::vector<std::uint8_t>(count * format.features(), pixel), std::vector<std::uint8_t>(count, 4));
    };
    const Dataset data{&format, examples(train, 255), examples(1, 0)};
    TrainOptions options;
    options.privacy = {.noise_multiplier = 1.0, .delta = 1e-3, .sample_rate = .5, .steps = 4};
    options.insecure_seed = 3;
    options.run.init_seed = 1;
    Trainer trainer(make_plan(options, {train, 1}), data);
    const Result result = trainer.run();
    EXPECT_EQ(result.steps, 4);
    EXPECT_TRUE(std::isfinite(result.evaluations.back().test_loss));
  }
}

}  // namespace
}  // namespace fodp
