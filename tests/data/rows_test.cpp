#include "fodp/data/rows.h"

#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "data/temporary_files.h"
#include "fodp/data/dataset.h"

namespace fodp {
namespace {

using namespace fodp::testing;

using AnyLoss = std::function<at::Tensor(const Tensors& inputs, const at::Tensor& targets)>;

TEST(Tensors, OneTensorIsThatTensorAndALossOfOneTensorIsALossOfThem) {
  const at::Tensor x = at::arange(6, at::kFloat).view({3, 2}), y = at::ones({3});
  const Tensors one = x;
  EXPECT_EQ(one.size(), 1u);
  EXPECT_EQ(one.rows(), 3);
  EXPECT_TRUE(one[0].is_same(x));
  EXPECT_EQ(one.row_shapes(), (std::vector<RowShape>{{{2}, at::kFloat}}));
  const AnyLoss by_reference = [](const at::Tensor& inputs, const at::Tensor& targets) { return inputs.sum(1) + targets; };
  const AnyLoss by_value = [](at::Tensor inputs, at::Tensor targets) { return inputs.sum(1) + targets; };
  const at::Tensor expected = at::tensor({2.0f, 6.0f, 10.0f});
  EXPECT_TRUE(at::equal(by_reference(x, y), expected));
  EXPECT_TRUE(at::equal(by_value(one, y), expected));
}

TEST(Tensors, SeveralAreTakenOneByOneAndNotForOne) {
  const at::Tensor ids = at::zeros({4, 5}, at::kLong), ages = at::ones({4}, at::kFloat);
  const Batch batch{{ids, ages}, at::ones({4})};
  ASSERT_EQ(batch.inputs.size(), 2u);
  EXPECT_EQ(batch.inputs.rows(), 4);
  std::vector<at::Tensor> walked(batch.inputs.begin(), batch.inputs.end());
  EXPECT_TRUE(walked[0].is_same(ids) && walked[1].is_same(ages) && batch.inputs[1].is_same(ages));
  EXPECT_EQ(batch.inputs.row_shapes(), (std::vector<RowShape>{{{5}, at::kLong}, {{}, at::kFloat}}));
  const AnyLoss of_one = [](const at::Tensor& inputs, const at::Tensor&) { return inputs; };
  expect_all_in(input_error([&] { of_one(batch.inputs, batch.targets); }), {"2 input tensors", "one is expected"});
  expect_all_in(input_error([&] { of_one({}, batch.targets); }), {"0 input tensors"});
}

TEST(Tensors, WithoutRowsThereIsNoNumberOfThem) {
  for (const Tensors& none : {Tensors(), Tensors(at::Tensor()), Tensors(at::zeros({}))})
    expect_all_in(input_error([&] { none.rows(); }), {"first dimension"});
}

TEST(TensorRows, GatherGivesTheRowsAskedForInThatOrder) {
  const at::Tensor ids = at::arange(12, at::kLong).view({4, 3}), ages = at::arange(4, at::kFloat),
                   labels = at::tensor({1, 0, 2, 1}, at::kLong);
  const TensorRows rows({ids, ages}, labels, 3);
  EXPECT_EQ(rows.count(), 4);
  EXPECT_EQ(rows.inputs(), (std::vector<RowShape>{{{3}, at::kLong}, {{}, at::kFloat}}));
  EXPECT_EQ(rows.target().kind, Target::Kind::classes);
  EXPECT_EQ(rows.target().classes, 3);
  EXPECT_EQ(rows.target().row, (RowShape{{}, at::kLong}));
  const std::vector<std::int64_t> chosen{2, 2, 0};
  const Batch batch = rows.gather(chosen);
  ASSERT_EQ(batch.inputs.size(), 2u);
  EXPECT_TRUE(at::equal(batch.inputs[0], at::tensor({6, 7, 8, 6, 7, 8, 0, 1, 2}, at::kLong).view({3, 3})));
  EXPECT_TRUE(at::equal(batch.inputs[1], at::tensor({2.0f, 2.0f, 0.0f})));
  EXPECT_TRUE(at::equal(batch.targets, at::tensor({2, 2, 1}, at::kLong)));
}

TEST(TensorRows, NumbersAreTargetsWithoutClasses) {
  const TensorRows rows(at::zeros({2, 3}), at::tensor({.5f, -2.0f}));
  EXPECT_EQ(rows.target().kind, Target::Kind::number);
  EXPECT_EQ(rows.target().classes, 0);
  EXPECT_EQ(rows.target().row, (RowShape{{}, at::kFloat}));
}

TEST(TensorRows, NoRowsGiveAnEmptyBatchOfTheRightShape) {
  const Batch batch = TensorRows(at::zeros({2, 3}), at::zeros({2})).gather({});
  EXPECT_EQ(batch.inputs[0].sizes(), (at::IntArrayRef{0, 3}));
  EXPECT_EQ(batch.targets.sizes(), (at::IntArrayRef{0}));
}

TEST(TensorRows, RowsThatDoNotExistAreRefused) {
  const TensorRows rows(at::zeros({3, 2}), at::zeros({3}));
  for (std::int64_t row : {std::int64_t{-1}, std::int64_t{3}}) {
    const std::vector<std::int64_t> chosen{0, row};
    expect_all_in(input_error([&] { rows.gather(chosen); }), {"row " + std::to_string(row), "[0, 2]"});
  }
}

TEST(TensorRows, TensorsThatDoNotFitEachOtherAreRefused) {
  const at::Tensor x = at::zeros({3, 2}), labels = at::tensor({0, 1, 2}, at::kLong);
  const auto refused = [](Tensors inputs, at::Tensor targets, std::optional<std::int64_t> classes, const std::vector<std::string>& parts) {
    expect_all_in(input_error([&] { TensorRows(inputs, targets, classes); }), parts);
  };
  refused({x, at::zeros({2, 2})}, labels, 3, {"input 1 has 2 rows", "targets have 3"});
  refused({}, labels, 3, {"no inputs"});
  refused(at::zeros({}), labels, 3, {"input 0", "first dimension"});
  refused(x, at::zeros({}), {}, {"targets", "first dimension"});
  refused(at::zeros({0, 2}), at::zeros({0}), {}, {"no rows"});
  refused(x, labels, {}, {"targets are Long", "Float", "number of classes"});
  refused(x, at::zeros({3}), 3, {"targets are Float", "must be Long"});
  refused(x, labels, 2, {"no class", "[0, 1]"});
  refused(x, labels - 1, 3, {"no class", "[0, 2]"});
  refused(x, labels, 0, {"0 classes"});
}

TEST(Rows, ImagesAreRows) {
  static const DataFormat format{"tiny", 2, 2, 3, 4, 10, 5, {.5, .25}, {.2, .4}};
  const Examples examples(format, pattern(5 * 12, 1), {3, 2, 1, 0, 3});
  const Rows& rows = examples;
  EXPECT_EQ(rows.count(), 5);
  EXPECT_EQ(rows.inputs(), (std::vector<RowShape>{{{2, 2, 3}, at::kFloat}}));
  EXPECT_EQ(rows.target().kind, Target::Kind::classes);
  EXPECT_EQ(rows.target().classes, 4);
  EXPECT_EQ(rows.target().row, (RowShape{{}, at::kLong}));
  const std::vector<std::int64_t> chosen{4, 1};
  const Batch batch = rows.gather(chosen);
  EXPECT_TRUE(at::equal(batch.inputs, examples.inputs(chosen)));
  EXPECT_TRUE(at::equal(batch.targets, at::tensor({3, 2}, at::kLong)));
}

// A row comes out the same whichever rows it is gathered with: what the bound of clipping rests on.
TEST(Rows, GatherGivesEachRowByItself) {
  static const DataFormat format{"tiny", 2, 2, 3, 4, 10, 5, {.5, .25}, {.2, .4}};
  const Examples images(format, pattern(5 * 12, 1), {3, 2, 1, 0, 3});
  const TensorRows tensors({at::arange(10, at::kFloat).view({5, 2}), at::arange(5, at::kLong)}, at::arange(5, at::kFloat));
  for (const Rows* rows : {static_cast<const Rows*>(&images), static_cast<const Rows*>(&tensors)}) {
    std::vector<std::int64_t> all(5);
    std::iota(all.begin(), all.end(), 0);
    const Batch together = rows->gather(all);
    for (std::int64_t row : all) {
      const Batch alone = rows->gather({&row, 1});
      for (std::size_t i = 0; i < together.inputs.size(); ++i) EXPECT_TRUE(at::equal(alone.inputs[i][0], together.inputs[i][row]));
      EXPECT_TRUE(at::equal(alone.targets[0], together.targets[row]));
    }
  }
}

}  // namespace
}  // namespace fodp
