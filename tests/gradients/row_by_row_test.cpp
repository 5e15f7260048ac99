#include "fodp/gradients/row_by_row.h"

#include <cmath>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>

#include "clipping.h"
#include "fodp/gradients/embedding.h"
#include "fodp/gradients/linear.h"
#include "known_sum.h"

namespace fodp {
namespace {

using namespace fodp::testing;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kRows = 23, kWidth = 6, kClasses = 4;

at::Tensor chosen_of(const at::Tensor& all, std::span<const std::int64_t> rows) {
  return all.index_select(0, at::from_blob(const_cast<std::int64_t*>(rows.data()), {std::ssize(rows)}, at::kLong));
}

// A small classifier, and rows in blocks of at most 8.
struct Classifier {
  torch::nn::Sequential net{nn::Linear(kWidth, 9), torch::nn::Tanh(), nn::Linear(9, kClasses)};
  at::Tensor inputs, targets;
  std::unique_ptr<FlatParameters> flat;

  Classifier() {
    torch::manual_seed(1);
    for (at::Tensor parameter : net->parameters()) parameter.data().normal_();
    inputs = at::randn({kRows, kWidth});
    targets = at::randint(kClasses, {kRows}, at::kLong);
    flat = std::make_unique<FlatParameters>(*net);
  }
  at::Tensor losses(const at::Tensor& x, const at::Tensor& y) {
    return at::nll_loss(net->forward(x).log_softmax(1), y, {}, at::Reduction::None);
  }
  RowLosses losses() {
    return [this](const at::Tensor& x, const at::Tensor& y) { return losses(x, y); };
  }
  Gather gather() const {
    return [this](std::span<const std::int64_t> rows) { return Batch{chosen_of(inputs, rows), chosen_of(targets, rows)}; };
  }
  static Blocks blocks() {
    Blocks all;
    for (std::int64_t row = 0; row < kRows; ++row) {
      if (row % 8 == 0) all.emplace_back();
      all.back().push_back(row);
    }
    return all;
  }
  std::vector<float> sum(const RowLosses& row_losses, const Gather& from) const {
    return opened(TestClipper(*net, *flat, row_losses, {.clip_norm = .5}, 8).clipped_sum(blocks(), 1, from));
  }
  // The sum in which these rows keep their places and contribute zero, because they are not finite.
  std::vector<float> sum_without(std::initializer_list<std::int64_t> rows) {
    const at::Tensor all = inputs;
    inputs = all.clone();
    for (std::int64_t row : rows) inputs[row].fill_(NAN);
    const auto without = sum(losses(), gather());
    inputs = all;
    return without;
  }
};

TEST(RowByRow, ALabelOutOfRangeContributesZeroAndTheOthersGiveTheSameBits) {
  const int threads = at::get_num_threads();
  for (const int used : {1, 2}) {
    at::set_num_threads(used);
    for (const std::int64_t bad : {0, 3, 7, 22}) {
      Classifier problem;
      const auto without = problem.sum_without({bad, 9});
      problem.targets[bad] = kClasses;
      problem.targets[9] = -1;
      EXPECT_EQ(problem.sum(problem.losses(), problem.gather()), without) << "row " << bad << ", " << used << " threads";
    }
  }
  at::set_num_threads(threads);
}

TEST(RowByRow, ABlockInWhichEveryRowThrowsIsZero) {
  Classifier problem;
  const auto without = problem.sum_without({16, 17, 18, 19, 20, 21, 22});
  problem.targets.slice(0, 16) = 99;
  EXPECT_EQ(problem.sum(problem.losses(), problem.gather()), without);
  problem.targets.fill_(99);
  EXPECT_THAT(problem.sum(problem.losses(), problem.gather()), Each(0));
}

TEST(RowByRow, ARowThatCannotBeFetchedContributesZero) {
  Classifier problem;
  const auto without = problem.sum_without({5, 11});
  const Gather gather = [&](std::span<const std::int64_t> rows) {
    for (std::int64_t row : rows) {
      if (row == 5) throw std::runtime_error("record 5 is torn");
      if (row == 11) throw 11;
    }
    return problem.gather()(rows);
  };
  EXPECT_EQ(problem.sum(problem.losses(), gather), without);
}

// Throws in the backward pass for a row whose first output gradient is marked.
struct ThrowsBackward : torch::autograd::Function<ThrowsBackward> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::Tensor x, at::Tensor bad) {
    context->save_for_backward({bad});
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    if (context->get_saved_variables()[0].any().item<bool>()) throw std::runtime_error("no gradient");
    return {gradients[0], at::Tensor()};
  }
};

// The layer behind the one that throws has left its record already: it must not count for the next rows.
TEST(RowByRow, WhatABackwardPassLeftBeforeItThrewIsForgotten) {
  Classifier problem;
  const auto without = problem.sum_without({2, 17});
  problem.targets[2] = problem.targets[17] = 77;
  const RowLosses losses = [&](const at::Tensor& x, const at::Tensor& y) {
    const auto layers = problem.net->children();
    at::Tensor hidden = ThrowsBackward::apply(layers[0]->as<nn::LinearImpl>()->forward(x), y.eq(77));
    return at::nll_loss(layers[2]->as<nn::LinearImpl>()->forward(hidden.tanh()).log_softmax(1), y.clamp(0, kClasses - 1), {},
                        at::Reduction::None);
  };
  EXPECT_EQ(problem.sum(losses, problem.gather()), without);
}

TEST(RowByRow, ALossThatWritesToItsRowsGivesTheSame) {
  Classifier problem;
  const auto without = problem.sum_without({4});
  problem.targets[4] = kClasses;
  problem.inputs.add_(1);
  const RowLosses losses = [&](const at::Tensor& x, const at::Tensor& y) {
    x.sub_(1);
    return problem.losses(x, y);
  };
  const auto sum = problem.sum(losses, problem.gather());
  for (std::size_t k = 0; k < sum.size(); ++k) EXPECT_NEAR(sum[k], without[k], 1e-3);
}

TEST(RowByRow, ATokenOutOfRangeContributesZero) {
  torch::manual_seed(2);
  torch::nn::Sequential net(nn::Embedding(10, 5), nn::Linear(5, 1));
  FlatParameters flat(*net);
  const RowLosses losses = [&](const at::Tensor& x, const at::Tensor& y) { return (net->forward(x).squeeze(2).sum(1) - y).square(); };
  const TestClipper clipper(*net, flat, losses, {.clip_norm = .5}, 8);
  const at::Tensor tokens = at::randint(10, {8, 3}, at::kLong), targets = at::randn({8});
  const auto sum = [&] {
    return opened(clipper.clipped_sum({{0, 1, 2, 3, 4, 5, 6, 7}}, 1, [&](std::span<const std::int64_t> rows) {
      return Batch{chosen_of(tokens, rows), chosen_of(targets, rows)};
    }));
  };
  targets[6] = NAN;
  const auto without = sum();
  targets[6] = 1;
  for (const std::int64_t bad : {10, -1, 4711}) {
    tokens[6][1] = bad;
    EXPECT_EQ(sum(), without) << bad;
  }
}

TEST(RowByRow, NumbersOfARowThatThrowsAreZero) {
  Classifier problem;
  problem.targets[3] = kClasses;
  const TestClipper clipper(*problem.net, *problem.flat, problem.losses(), {.clip_norm = .5}, 8);
  const Draw draw;
  const auto number = [&](Query::Depth depth, std::vector<std::int64_t> rows, const std::function<double(const RowFacts&)>& part,
                          std::span<const float> before = {}) {
    const Gather gather = problem.gather();
    const Blocks blocks{std::move(rows)};
    return opened_release(
               static_cast<const Clipper&>(clipper).clipped_sum({blocks, draw, gather}, NumberQuery(depth, {"number", 4, 0}, part, before)))
        .scalar("number");
  };
  const std::vector<float> before(problem.flat->values().size(), .1f);
  const auto one = [](const RowFacts&) { return 1.0; };
  for (const auto depth : {Query::Depth::losses, Query::Depth::norms, Query::Depth::gradients})
    for (const std::span<const float> at : {std::span<const float>(), std::span<const float>(before)}) {
      EXPECT_NEAR(number(depth, {2, 3, 4}, one, at), 2, 1e-5);
      EXPECT_EQ(number(depth, {3}, one, at), 0);
    }
  EXPECT_NEAR(number(Query::Depth::norms, {1, 2},
                     [n = 0](const RowFacts&) mutable { return ++n == 1 ? throw std::runtime_error("no part") : 1.0; }),
              1, 1e-5);
}

TEST(RowByRow, RefusalsAndFaultsEndTheRun) {
  Classifier problem;
  const auto throwing = [&](auto error) {
    return [&problem, error](const at::Tensor& x, const at::Tensor& y) -> at::Tensor {
      if (x.size(0) > 0) throw error;
      return problem.losses(x, y);
    };
  };
  EXPECT_THROW(problem.sum(throwing(PrivacyError("rows mix")), problem.gather()), PrivacyError);
  EXPECT_THROW(problem.sum(throwing(FaultError("no disk")), problem.gather()), FaultError);
}

// No single row is to blame, so there is none to leave out.
TEST(RowByRow, WhatThrowsForRowsTogetherOnlyEndsTheRunWithoutItsText) {
  Classifier problem;
  const RowLosses losses = [&](const at::Tensor& x, const at::Tensor& y) {
    if (x.size(0) > 1) throw std::runtime_error("4711");
    return problem.losses(x, y);
  };
  try {
    problem.sum(losses, problem.gather());
    ADD_FAILURE() << "not refused";
  } catch (const UserCodeError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("withheld"), Not(HasSubstr("4711")), Not(HasSubstr("8"))));
  }
}

TEST(RowByRow, AnotherNumberOfRowsIsRefused) {
  Classifier problem;
  const Gather gather = [&](std::span<const std::int64_t>) { return Batch{problem.inputs, problem.targets}; };
  EXPECT_THROW(problem.sum(problem.losses(), gather), PrivacyError);
}

}  // namespace
}  // namespace fodp
