#include "fodp/gradients/mixing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/dropout.h>

#include "clipping.h"
#include "fodp/base/check.h"
#include "fodp/gradients/embedding.h"
#include "fodp/gradients/linear.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

TEST(ExamplesDoNotMix, RowwiseModelsPassAndMixingIsFound) {
  nn::Linear layer(3, 2);
  const std::vector<std::int64_t> shape = {3};
  EXPECT_NO_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x).tanh(); }, shape));
  EXPECT_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x - x.mean(0)); }, shape), PrivacyError);
  EXPECT_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x.roll(1, 0)); }, shape), PrivacyError);
  EXPECT_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x).sum(); }, shape), PrivacyError);
}

TEST(ExamplesDoNotMix, TokensComeAsASample) {
  torch::manual_seed(1);
  nn::Embedding embedding(5, 4);
  const at::Tensor tokens = at::randint(5, {4, 6}, at::kLong);
  EXPECT_NO_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return embedding->forward(x); }, tokens));
  EXPECT_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return embedding->forward(x).cumsum(0); }, tokens), PrivacyError);
}

// Dropout differs from call to call, not from row to row; and torch's generator goes on as if nothing had been drawn.
TEST(ExamplesDoNotMix, RandomnessOfEachRowIsNotMixing) {
  nn::Linear layer(3, 50);
  torch::nn::Dropout dropout(.5);
  torch::manual_seed(4);
  const at::Tensor expected = at::randn({4});
  torch::manual_seed(4);
  EXPECT_NO_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return dropout->forward(layer->forward(x)); }, at::ones({2, 3})));
  EXPECT_TRUE(at::randn({4}).equal(expected));
}

using Losses = std::function<at::Tensor(nn::Linear&, const at::Tensor& x, const at::Tensor& y)>;

// One clipper over a linear layer, for losses that mix or do not.
void check_losses(const Losses& losses, std::vector<std::int64_t> shape, const at::Tensor& targets = {}) {
  nn::Linear layer(4, 1);
  FlatParameters flat(*layer);
  const testing::TestClipper clipper(
      *layer, flat, [&](const at::Tensor& x, const at::Tensor& y) { return losses(layer, x, y); }, {}, 128);
  check_rows_do_not_mix(clipper, *layer, {at::ones(shape), targets});
}

TEST(RowsDoNotMix, RowwiseLossesPass) {
  EXPECT_NO_THROW(
      check_losses([](nn::Linear& layer, const at::Tensor& x, const at::Tensor&) { return layer->forward(x).square().sum(1); }, {7, 4}));
}

TEST(RowsDoNotMix, MixingInTheLossIsFound) {
  EXPECT_THROW(check_losses(
                   [](nn::Linear& layer, const at::Tensor& x, const at::Tensor&) {
                     const at::Tensor out = layer->forward(x).sum(1);
                     return out - out.mean();
                   },
                   {7, 4}),
               PrivacyError);
}

// A square batch laid out positions first: every size fits, and the norms belong to positions.
TEST(RowsDoNotMix, RowsInTheSecondDimensionAreFound) {
  EXPECT_THROW(check_losses(
                   [](nn::Linear& layer, const at::Tensor& x, const at::Tensor&) {
                     return layer->forward(x.transpose(0, 1)).square().sum(at::IntArrayRef({0, 2}));
                   },
                   {4, 4, 4}),
               PrivacyError);
}

TEST(RowsDoNotMix, MixingInTheBackwardPassAloneIsFound) {
  // The loss's value is each row's own; its gradient is not.
  EXPECT_THROW(check_losses(
                   [](nn::Linear& layer, const at::Tensor& x, const at::Tensor&) {
                     const at::Tensor out = layer->forward(x).square().sum(1);
                     const at::Tensor mixed = out * out.roll(1, 0);
                     return out + mixed - mixed.detach();
                   },
                   {7, 4}),
               PrivacyError);
}

TEST(RowsDoNotMix, MixingInTheTargetsIsFound) {
  EXPECT_THROW(check_losses([](nn::Linear& layer, const at::Tensor& x,
                               const at::Tensor& y) { return (layer->forward(x).sum(1) - (y - y.mean())).square(); },
                            {7, 4}, at::ones({7})),
               PrivacyError);
  EXPECT_THROW(check_losses([](nn::Linear& layer, const at::Tensor& x,
                               const at::Tensor& y) { return layer->forward(x).sum(1).square() / (1 + y.sum()); },
                            {7, 4}, at::ones({7}, at::kLong)),
               PrivacyError);
}

// Normal numbers have no logarithm.
TEST(RowsDoNotMix, MixingOfPositiveNumbersIsFound) {
  EXPECT_THROW(check_losses([](nn::Linear& layer, const at::Tensor& x,
                               const at::Tensor&) { return layer->forward(x.log() - x.log().mean(0)).square().sum(1); },
                            {7, 4}),
               PrivacyError);
}

TEST(RowsDoNotMix, WhatIsNeverFiniteIsRefused) {
  EXPECT_THROW(check_losses([](nn::Linear& layer, const at::Tensor& x, const at::Tensor&) { return layer->forward(x / 0).sum(1); }, {7, 4}),
               PrivacyError);
}

// Sorting by length puts a row's gradient into another row's place, unless it is undone before the layer.
TEST(RowsDoNotMix, RowsSortedByLengthAreFound) {
  EXPECT_THROW(check_losses(
                   [](nn::Linear& layer, const at::Tensor& x, const at::Tensor&) {
                     const at::Tensor order = x.ne(0).sum(1).argsort();
                     return layer->forward(x.index_select(0, order)).sum(1).square().index_select(0, order.argsort());
                   },
                   {7, 4}),
               PrivacyError);
}

TEST(RowsDoNotMix, ASignThatDependsOnAnotherRowIsFound) {
  EXPECT_THROW(check_losses(
                   [](nn::Linear& layer, const at::Tensor& x, const at::Tensor&) {
                     const at::Tensor out = layer->forward(x).sum(1);
                     return (x.roll(1, 0).select(1, 0).sign() * (out - out.detach())) + out.detach();
                   },
                   {7, 4}),
               PrivacyError);
}

struct Hidden : torch::nn::Module {
  Hidden() {
    seen = register_buffer("seen", torch::zeros(4));
    layer = register_module("layer", nn::Linear(4, 1));
  }
  at::Tensor seen;
  nn::Linear layer = nullptr;
};

// Past the version counter.
TEST(RowsDoNotMix, ABufferChangedBehindAutogradsBackIsFound) {
  auto model = std::make_shared<Hidden>();
  FlatParameters flat(*model);
  const testing::TestClipper clipper(
      *model, flat,
      [&](const at::Tensor& x, const at::Tensor&) {
        model->seen.data().add_(x.sum(0));
        return model->layer->forward(x).squeeze(1);
      },
      {}, 128);
  EXPECT_THROW(check_rows_do_not_mix(clipper, *model, {at::ones({1, 4}), at::Tensor()}), PrivacyError);
}

// A model over ids, for rows that its embedding takes or not: the mean embedding of a row's ids, then a linear layer.
struct Ids : torch::nn::Module {
  Ids() {
    embedding = register_module("embedding", nn::Embedding(20, 3));
    layer = register_module("layer", nn::Linear(3, 1));
  }
  at::Tensor forward(const at::Tensor& ids) { return layer->forward(embedding->forward(ids.to(at::kLong)).mean(1)).squeeze(1).square(); }
  nn::Embedding embedding = nullptr;
  nn::Linear layer = nullptr;
};

// These values, laid out as so many rows.
at::Tensor rows_of(const std::vector<double>& values, std::int64_t rows = 1, at::ScalarType type = at::kLong) {
  return at::tensor(values).view({rows, -1}).to(type);
}

using IdLosses = std::function<at::Tensor(Ids&, const at::Tensor& x)>;

void check_ids(const IdLosses& losses, const at::Tensor& like, const std::optional<Batch>& sample = std::nullopt) {
  torch::manual_seed(1);
  auto model = std::make_shared<Ids>();
  FlatParameters flat(*model);
  const testing::TestClipper clipper(
      *model, flat, [&](const at::Tensor& x, const at::Tensor&) { return losses(*model, x); }, {}, 128);
  check_rows_do_not_mix(clipper, *model, {like, at::Tensor()}, sample);
}

std::string refusal_of_ids(const IdLosses& losses, const at::Tensor& like, const std::optional<Batch>& sample = std::nullopt) {
  try {
    check_ids(losses, like, sample);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

at::Tensor mixed(const at::Tensor& losses) { return losses + losses.roll(1, 0); }

TEST(RowsDoNotMix, IdsInAFloatTensorPassAndTheirMixingIsFound) {
  const at::Tensor like = rows_of({7, 3}, 1, at::kFloat);
  EXPECT_NO_THROW(check_ids([](Ids& model, const at::Tensor& x) { return model.forward(x); }, like));
  EXPECT_THROW(check_ids([](Ids& model, const at::Tensor& x) { return mixed(model.forward(x)); }, like), PrivacyError);
}

// A column of measurements beside the ids.
TEST(RowsDoNotMix, MixingOfNumbersBesideIdsIsFound) {
  const auto losses = [](const at::Tensor& scale) {
    return [scale](Ids& model, const at::Tensor& x) {
      const at::Tensor numbers = x.select(1, 0);
      return model.forward(x.slice(1, 1)) * (numbers - scale * numbers.mean());
    };
  };
  const at::Tensor like = rows_of({.25, 7, 3}, 1, at::kFloat);
  EXPECT_NO_THROW(check_ids(losses(at::zeros({})), like));
  EXPECT_THROW(check_ids(losses(at::ones({})), like), PrivacyError);
}

// The ids begin at 100 or 1000, so that neither normal numbers nor 0 and 1 are any.
TEST(RowsDoNotMix, IdsThatBeginHigherAreMadeUpBetweenThoseOfTheRow) {
  for (const at::ScalarType type : {at::kFloat, at::kLong}) {
    const at::Tensor like = rows_of({107, 103, 110}, 1, type);
    EXPECT_NO_THROW(check_ids([](Ids& model, const at::Tensor& x) { return model.forward(x - 100); }, like));
    EXPECT_THROW(check_ids([](Ids& model, const at::Tensor& x) { return mixed(model.forward(x - 100)); }, like), PrivacyError);
  }
  const at::Tensor beside_numbers = rows_of({.25, 1007, 1003}, 1, at::kFloat);
  EXPECT_NO_THROW(
      check_ids([](Ids& model, const at::Tensor& x) { return model.forward(x.slice(1, 1) - 1000) * x.select(1, 0); }, beside_numbers));
}

// The training row's ids, 4711 and 4712, are in what the embedding throws; it must not come out.
TEST(RowsDoNotMix, WhatIsThrownOnRowsMadeFromTheDataIsNotShown) {
  std::vector<std::string> thrown;
  const auto losses = [&](Ids& model, const at::Tensor& x) {
    if (x.ge(4711).logical_and(x.le(4712)).all().item<bool>()) thrown.push_back("met the ids of the data");
    TORCH_CHECK(false, "least id ", x.min().item<double>());
    return model.forward(x);
  };
  const std::string refusal = refusal_of_ids(losses, rows_of({4711, 4712}));
  EXPECT_THAT(thrown, ElementsAre("met the ids of the data"));
  EXPECT_THAT(refusal, AllOf(HasSubstr("least id 0"), HasSubstr("made-up rows (inputs [rows, 2] long)"), HasSubstr("sample rows"),
                             Not(HasSubstr("471")), Not(HasSubstr("frame")), Not(HasSubstr("Exception raised"))));
}

TEST(RowsDoNotMix, ARowOfOneIdNeedsASample) {
  const auto losses = [](Ids& model, const at::Tensor& x) { return model.forward(x - 100); };
  EXPECT_THAT(refusal_of_ids(losses, rows_of({107})), HasSubstr("index out of range"));
  EXPECT_NO_THROW(check_ids(losses, rows_of({107}), Batch{rows_of({107, 112}, 2), at::Tensor()}));
}

TEST(RowsDoNotMix, ASampleIsUsedInPlaceOfMadeUpRows) {
  const at::Tensor like = at::zeros({1, 2}, at::kLong);
  const Batch sample{rows_of({107, 103, 101, 102, 105, 105}, 3), at::Tensor()};
  std::vector<double> least;
  const auto losses = [&](Ids& model, const at::Tensor& x) {
    least.push_back(x.min().item<double>());
    return model.forward(x - 100);
  };
  EXPECT_NO_THROW(check_ids(losses, like, sample));
  EXPECT_THAT(least, Each(AllOf(Ge(101), Le(105))));
  EXPECT_THROW(check_ids([](Ids& model, const at::Tensor& x) { return mixed(model.forward(x - 100)); }, like, sample), PrivacyError);
}

TEST(RowsDoNotMix, ASampleThatShowsNothingIsRefused) {
  const at::Tensor like = at::zeros({1, 2}, at::kLong);
  const auto losses = [](Ids& model, const at::Tensor& x) { return model.forward(x); };
  EXPECT_THROW(check_ids(losses, like, Batch{at::ones({3, 2}, at::kLong), at::Tensor()}), PrivacyError);
  EXPECT_THAT(refusal_of_ids(losses, like, Batch{at::ones({1, 2}, at::kLong), at::Tensor()}), HasSubstr("two rows"));
  EXPECT_THAT(refusal_of_ids(losses, like, Batch{at::ones({2, 2}, at::kLong), at::ones({2})}), HasSubstr("targets"));
}

}  // namespace
}  // namespace fodp
