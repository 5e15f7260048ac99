#include "fodp/gradients/mixing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/dropout.h>

#include "fodp/base/check.h"
#include "fodp/gradients/embedding.h"
#include "fodp/gradients/linear.h"

namespace fodp {
namespace {

TEST(ExamplesDoNotMix, RowwiseModelsPassAndMixingIsFound) {
  nn::Linear layer(3, 2);
  const std::vector<std::int64_t> shape = {3};
  EXPECT_NO_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x).tanh(); }, shape));
  EXPECT_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x - x.mean(0)); }, shape), PrivacyError);
  EXPECT_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x.roll(1, 0)); }, shape), PrivacyError);
  EXPECT_THROW(check_examples_do_not_mix([&](const at::Tensor& x) { return layer->forward(x).sum(); }, shape), PrivacyError);
}

TEST(ExamplesDoNotMix, TokensComeAsASample) {
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
  const Clipper clipper(
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
  const Clipper clipper(
      *model, flat,
      [&](const at::Tensor& x, const at::Tensor&) {
        model->seen.data().add_(x.sum(0));
        return model->layer->forward(x).squeeze(1);
      },
      {}, 128);
  EXPECT_THROW(check_rows_do_not_mix(clipper, *model, {at::ones({1, 4}), at::Tensor()}), PrivacyError);
}

}  // namespace
}  // namespace fodp
