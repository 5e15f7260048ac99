// Private steps on rows that are fetched badly: together, at random, or not at all.
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/gradients/embedding.h"
#include "fodp/gradients/linear.h"
#include "fodp/mechanism/banded.h"
#include "fodp/training/evaluate.h"
#include "fodp/training/private_steps.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Chosen = std::span<const std::int64_t>;

constexpr std::int64_t kWords = 8, kLength = 12;

// Whether a text is of one kind or the other, from the mean of its words. The word 0 is padding, and counts in the mean.
struct TextModel : torch::nn::Module {
  TextModel() {
    torch::manual_seed(3);
    words = register_module("words", nn::Embedding(kWords, 4));
    head = register_module("head", nn::Linear(4, 2));
  }
  RowLosses losses() {
    return [this](const at::Tensor& x, const at::Tensor& y) {
      return at::nll_loss(head(words(x).mean(1)).log_softmax(1), y, {}, at::Reduction::None);
    };
  }
  nn::Embedding words = nullptr;
  nn::Linear head = nullptr;
};

struct Texts {
  std::vector<std::vector<std::int64_t>> words;
  std::vector<std::int64_t> kinds;

  explicit Texts(std::int64_t count, std::int64_t lengths = 1) {
    for (std::int64_t row = 0; row < count; ++row) {
      words.emplace_back(5 + row % lengths);
      for (std::size_t i = 0; i < words.back().size(); ++i)
        words.back()[i] = 1 + (7 * row + static_cast<std::int64_t>(i * i)) % (kWords - 1);
      kinds.push_back(row % 2);
    }
  }
  std::int64_t count() const { return std::ssize(words); }

  Batch padded(Chosen rows, std::int64_t length) const {
    const at::Tensor x = at::zeros({std::ssize(rows), length}, at::kLong), y = at::zeros({std::ssize(rows)}, at::kLong);
    for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
      const auto& text = words[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])];
      for (std::int64_t k = 0; k < std::min(length, std::ssize(text)); ++k) x[i][k] = text[static_cast<std::size_t>(k)];
      y[i] = kinds[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])];
    }
    return {x, y};
  }
  TrainingRows to_fixed_length() const {
    return {count(), [this](Chosen rows) { return padded(rows, kLength); }};
  }
  TrainingRows to_the_longest() const {
    return {count(), [this](Chosen rows) {
              std::int64_t longest = 0;
              for (std::int64_t row : rows) longest = std::max(longest, std::ssize(words[static_cast<std::size_t>(row)]));
              return padded(rows, longest);
            }};
  }
};

// Every row, no noise.
PrivateOptions exact(std::int64_t steps = 1) {
  return {.method = "dp-sgd",
          .privacy = {.noise_multiplier = 0.0, .sample_rate = 1, .steps = steps},
          .clip = {.clip_norm = .05},
          .update = {.lr = .3},
          .insecure_seed = 7};
}

std::vector<float> clipped_sum(const TrainingRows& rows) {
  TextModel model;
  PrivateSteps steps(model, model.losses(), rows, exact());
  const Release release = steps.release(steps.clipped_sum(steps.sample()));
  return {release.values().begin(), release.values().end()};
}

std::string refusal(const TrainingRows& rows) {
  try {
    clipped_sum(rows);
  } catch (const PrivacyError& error) {
    return error.what();
  }
  return "not refused";
}

// The same rows, of which this one is not there: its slot stays, and contributes zero.
TrainingRows without(TrainingRows rows, std::int64_t gone) {
  rows.gather = [gone, gather = rows.gather](Chosen chosen) {
    if (std::ranges::find(chosen, gone) != chosen.end()) throw std::out_of_range("row " + std::to_string(gone));
    return gather(chosen);
  };
  return rows;
}

TEST(FetchedRows, PaddingToTheLongestRowIsRefused) {
  EXPECT_THAT(refusal(Texts(200, 30).to_the_longest()), HasSubstr("fixed, public length"));
}

// One long row, which is not among those that are looked at before training.
TEST(FetchedRows, PaddingToALongestRowThatComesUpLaterIsRefusedWithoutItsSize) {
  Texts texts(200);
  EXPECT_EQ(refusal(texts.to_the_longest()), "not refused");
  texts.words[101].resize(700, 1);
  EXPECT_THAT(refusal(texts.to_the_longest()),
              AllOf(HasSubstr("fixed, public length"), Not(HasSubstr("700")), Not(HasSubstr("101")), Not(HasSubstr("128"))));
}

TEST(FetchedRows, WithAFixedLengthOneRowMovesTheSumByAtMostTheClipNorm) {
  Texts texts(200, 30);
  texts.words[101].resize(700, 1);
  TextModel model;
  const PrivateSteps steps(model, model.losses(), texts.to_fixed_length(), exact());
  const double bound = exact().clip.clip_norm * (1 + steps.plan().slack());
  const auto with = clipped_sum(texts.to_fixed_length());
  for (const std::int64_t row : {101, 120, 199}) {
    const auto less = clipped_sum(without(texts.to_fixed_length(), row));
    double squared = 0;
    for (std::size_t k = 0; k < with.size(); ++k) squared += std::pow(double(with[k]) - less[k], 2);
    EXPECT_LE(std::sqrt(squared), bound) << "row " << row;
    EXPECT_GT(std::sqrt(squared), .9 * bound) << "row " << row;
  }
}

TEST(FetchedRows, StandardisingABatchIsRefused) {
  torch::manual_seed(1);
  const at::Tensor inputs = at::randn({100, 3});
  const auto train = [&](bool standardise) {
    nn::Linear net(3, 1);
    PrivateSteps(
        *net, [&](const at::Tensor& x, const at::Tensor&) { return net->forward(x).square().sum(1); },
        {100,
         [&](Chosen rows) {
           std::vector<at::Tensor> chosen;
           for (std::int64_t row : rows) chosen.push_back(inputs[row]);
           const at::Tensor x = torch::stack(chosen);
           return Batch{standardise ? (x - x.mean(0)) / (x.std(0, /*unbiased=*/false) + 1e-3) : x, at::Tensor()};
         }},
        exact())
        .step();
  };
  EXPECT_NO_THROW(train(false));
  EXPECT_THROW(train(true), PrivacyError);
}

TEST(FetchedRows, RandomRowsTrainWithAWarning) {
  const Texts texts(40);
  TrainingRows rows = texts.to_fixed_length();
  {
    TextModel model;
    EXPECT_THAT(PrivateSteps(model, model.losses(), rows, exact()).run_warnings(), IsEmpty());
  }
  rows.gather = [gather = rows.gather](Chosen chosen) {  // drops a random word of each row
    const Batch batch = gather(chosen);
    const at::Tensor x = batch.inputs[0];
    return Batch{x.where(at::randn_like(x, at::kFloat).lt(1), at::zeros_like(x)), batch.targets};
  };
  EXPECT_THAT(refusal(rows), HasSubstr("random_rows"));
  rows.random_rows = true;
  TextModel model;
  PrivateSteps steps(model, model.losses(), rows, exact());
  EXPECT_NO_THROW(steps.step());
  ASSERT_THAT(steps.run_warnings(), SizeIs(1));
  EXPECT_THAT(steps.run_warnings()[0], HasSubstr("not checked"));
  rows.gather = [longest = texts.to_the_longest().gather, fixed = rows.gather](Chosen chosen) {
    return chosen.size() == 1 ? fixed(chosen) : longest(chosen);
  };
  EXPECT_THAT(refusal(rows), HasSubstr("fixed, public length")) << "shapes are compared all the same";
}

TEST(FetchedRows, ASampleOfAnotherTypeIsAnInputError) {
  const Texts texts(40);
  TrainingRows rows = texts.to_fixed_length();
  rows.sample = texts.padded(std::vector<std::int64_t>{1, 2}, kLength);
  EXPECT_NO_THROW(clipped_sum(rows));
  rows.sample->targets = rows.sample->targets.to(at::kInt);
  EXPECT_THROW(clipped_sum(rows), InputError);
}

// Correlated noise over four steps: a record takes part when the turn of its row number comes, and must keep the number.
PrivateOptions cyclic(const std::string& method = "bandmf") {
  PrivateOptions options{
      .method = method, .privacy = {.noise_multiplier = 1.0, .sample_rate = .25, .steps = 12}, .update = {.lr = .3}, .insecure_seed = 7};
  options.own.of<BandOptions>().bands = 4;
  return options;
}

TEST(FetchedRows, ThatChangePlacesAreRefusedUnderCorrelatedNoise) {
  for (const std::string method : {"bandmf", "dp-sgd"}) {
    Texts texts(200);
    TextModel model;
    PrivateSteps steps(model, model.losses(), texts.to_fixed_length(), cyclic(method));
    for (int i = 0; i < 8; ++i) steps.step();
    std::ranges::rotate(texts.words, texts.words.begin() + 1);
    std::ranges::rotate(texts.kinds, texts.kinds.begin() + 1);
    if (method == "dp-sgd") {
      EXPECT_NO_THROW(steps.step()) << "each step is paid for by itself";
      continue;
    }
    try {
      steps.step();
      ADD_FAILURE() << "not refused";
    } catch (const PrivacyError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("same record"), HasSubstr("shuffle")));
    }
    EXPECT_EQ(total_count(steps.events()), 2) << "nothing is charged for a refused step";
  }
}

// Rows whose gradients are -1 and 1 by turns, in two groups, each of which is summed whole and without noise. Groups by the row's number
// would have all of one sign, and of the other without the first row.
TEST(FetchedRows, ARowThatLeavesMovesNoOtherToAnotherTurn) {
  const auto sums = [](std::int64_t first) {
    nn::Linear net(torch::nn::LinearOptions(1, 1).bias(false));
    const RowLosses losses = [&](const at::Tensor& x, const at::Tensor& y) { return net->forward(x).squeeze(1) * y; };
    const TrainingRows rows{200 - first, [first](Chosen chosen) {
                              at::Tensor signs = at::ones({std::ssize(chosen)});
                              for (std::int64_t i = 0; i < std::ssize(chosen); ++i) signs[i] = (chosen[i] + first) % 2 == 0 ? -1 : 1;
                              return Batch{at::ones({std::ssize(chosen), 1}), signs};
                            }};
    PrivateOptions options{
        .method = "bandmf", .privacy = {.noise_multiplier = 0.0, .sample_rate = .5, .steps = 2}, .update = {.lr = 1.0}, .insecure_seed = 7};
    options.own.of<BandOptions>().bands = 2;
    PrivateSteps steps(*net, losses, rows, options);
    std::vector<double> out;
    for (int i = 0; i < 2; ++i) {
      const double before = steps.parameters()[0];
      steps.step();
      out.push_back((before - steps.parameters()[0]) * steps.expected_lot());
    }
    return out;
  };
  const std::vector<double> with = sums(0), without = sums(1);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(with[i], without[i], 1.001) << i;
  EXPECT_NEAR(with[0] + with[1], 0, .001);
  EXPECT_NEAR(without[0] + without[1], 1, .001);
}

// The function may hand out its own memory, which changes under whoever keeps it.
TEST(FetchedRows, ThatChangeInPlaceAreRefusedUnderCorrelatedNoise) {
  nn::Linear net(2, 1);
  const at::Tensor memory = at::randn({16, 2});
  const TrainingRows rows{16, [&](Chosen chosen) {
                            if (chosen.size() == 16) return Batch{memory, at::Tensor()};
                            std::vector<at::Tensor> some;
                            for (const std::int64_t row : chosen) some.push_back(memory[row]);
                            return Batch{torch::stack(some), at::Tensor()};
                          }};
  const RowLosses losses = [&](const at::Tensor& x, const at::Tensor&) { return net->forward(x).square().sum(1); };
  PrivateSteps steps(*net, losses, rows, cyclic());
  for (int i = 0; i < 4; ++i) steps.step();
  memory[15][1].add_(1);
  EXPECT_THROW(steps.step(), PrivacyError);
}

TEST(FetchedRows, ThatAreRandomTrainUnderCorrelatedNoise) {
  const Texts texts(40);
  TrainingRows rows = texts.to_fixed_length();
  rows.random_rows = true;
  rows.gather = [gather = rows.gather](Chosen chosen) {
    const Batch batch = gather(chosen);
    const at::Tensor x = batch.inputs[0];
    return Batch{x.where(at::randn_like(x, at::kFloat).lt(1), at::zeros_like(x)), batch.targets};
  };
  TextModel model;
  PrivateSteps steps(model, model.losses(), rows, cyclic());
  while (!steps.done()) ASSERT_NO_THROW(steps.step());
}

TEST(FetchedRows, TheStatementSaysThatRowsMustStayUnderCorrelatedNoise) {
  const Texts texts(40);
  TextModel model, other;
  EXPECT_THAT(PrivateSteps(model, model.losses(), texts.to_fixed_length(), cyclic()).statement(), HasSubstr("Same rows"));
  EXPECT_THAT(PrivateSteps(other, other.losses(), texts.to_fixed_length(), cyclic("dp-sgd")).statement(), Not(HasSubstr("Same rows")));
}

// Labels and words out of range, and a row that cannot be fetched: the run goes to its end, and these rows are as good as not there.
TEST(FetchedRows, RowsThatThrowCountAsAbsent) {
  Texts texts(60);
  const auto absent = clipped_sum(without(without(without(texts.to_fixed_length(), 17), 30), 59));
  texts.kinds[17] = 2;
  texts.words[30][2] = kWords;
  EXPECT_EQ(clipped_sum(without(texts.to_fixed_length(), 59)), absent);
  TextModel model;
  PrivateSteps steps(model, model.losses(), texts.to_fixed_length(), exact(5));
  while (!steps.done()) EXPECT_NO_THROW(steps.step());
}

// Also by an exception of a type of ours, whose text would otherwise end the run and be shown.
TEST(FetchedRows, WhatTheyThrowIsNoRefusalOfOurs) {
  const Texts kept(60);
  const TrainingRows texts = kept.to_fixed_length();
  const auto absent = clipped_sum(without(texts, 17));
  for (const bool privacy : {true, false}) {
    TrainingRows rows = texts;
    rows.gather = [privacy, gather = texts.gather](Chosen chosen) {
      if (std::ranges::find(chosen, 17) == chosen.end()) return gather(chosen);
      if (privacy) throw PrivacyError("secret row 17");
      throw FaultError("secret row 17");
    };
    EXPECT_EQ(clipped_sum(rows), absent);
  }
}

// Whether a run starts must not depend on one record, be it the first.
TEST(FetchedRows, AFirstRowThatCannotBeFetchedCountsAsAbsent) {
  Texts texts(40);
  const auto absent = clipped_sum(without(texts.to_fixed_length(), 0));
  texts.kinds[0] = 2;
  EXPECT_EQ(clipped_sum(texts.to_fixed_length()), absent);
}

TEST(FetchedRows, RowsNoneOfWhichCanBeFetchedAreAnErrorWithoutItsText) {
  TrainingRows rows = Texts(40).to_fixed_length();
  rows.gather = [](std::span<const std::int64_t>) -> Batch { throw std::runtime_error("secret words"); };
  try {
    clipped_sum(rows);
    ADD_FAILURE() << "not refused";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("fetching a training row"), HasSubstr("withheld"), Not(HasSubstr("secret"))));
  }
}

// Test rows are public: what they throw is told.
TEST(FetchedRows, ABadTestRowIsTold) {
  struct TestRows : Rows {
    std::int64_t count() const override { return 3; }
    std::vector<RowShape> inputs() const override { return {{{2}, at::kFloat}}; }
    Target target() const override { return {Target::Kind::classes, 2, {{}, at::kLong}}; }
    Batch gather(Chosen rows) const override {
      if (torn) throw std::runtime_error("record 2 is torn");
      return {at::zeros({std::ssize(rows), 2}), at::full({std::ssize(rows)}, 5, at::kLong)};
    }
    bool torn = false;
  } rows;
  const Model model{.forward = [](const at::Tensor& x) { return x; }};
  const auto error = [&] {
    try {
      evaluate(model, rows, *objective_table().front());
    } catch (const InputError& thrown) {
      return std::string(thrown.what());
    }
    return std::string("not thrown");
  };
  EXPECT_THAT(error(), AllOf(HasSubstr("evaluating test rows"), HasSubstr("5"), Not(HasSubstr("\n"))));
  rows.torn = true;
  EXPECT_THAT(error(), AllOf(HasSubstr("fetching test rows"), HasSubstr("record 2 is torn")));
}

}  // namespace
}  // namespace fodp
