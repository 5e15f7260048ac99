#include "fodp/data/rows.h"

#include <ATen/ops/from_blob.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

RowShape row_shape(const at::Tensor& tensor) { return {tensor.sizes().slice(1).vec(), tensor.scalar_type()}; }

bool has_rows(const at::Tensor& tensor) { return tensor.defined() && tensor.dim() >= 1; }

}  // namespace

std::int64_t Tensors::rows() const {
  check_input(!all_.empty() && has_rows(all_[0]), "the inputs of a batch must have the rows in their first dimension");
  return all_[0].size(0);
}

Tensors::operator const at::Tensor&() const {
  check_input(all_.size() == 1, "a batch has {} input tensors where one is expected: take them as fodp::Tensors, one by one", all_.size());
  return all_[0];
}

std::vector<RowShape> Tensors::row_shapes() const {
  std::vector<RowShape> shapes;
  for (const at::Tensor& tensor : all_) shapes.push_back(row_shape(tensor));
  return shapes;
}

TensorRows::TensorRows(Tensors inputs, at::Tensor targets, std::optional<std::int64_t> classes)
    : inputs_(std::move(inputs)), targets_(std::move(targets)) {
  check_input(has_rows(targets_), "targets must have the rows in their first dimension");
  check_input(count() >= 1, "there are no rows: at least 1 is needed");
  check_input(inputs_.size() >= 1, "there are no inputs: at least 1 tensor is needed");
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    check_input(has_rows(inputs_[i]), "input {} must have the rows in its first dimension", i);
    check_input(inputs_[i].size(0) == count(), "input {} has {} rows: the targets have {}", i, inputs_[i].size(0), count());
  }
  target_ = {classes ? Target::Kind::classes : Target::Kind::number, classes.value_or(0), row_shape(targets_)};
  const at::ScalarType expected = classes ? at::kLong : at::kFloat;
  check_input(target_.row.type == expected, "targets are {}: {} must be {}", at::toString(target_.row.type),
              classes ? "classes" : "numbers (give the number of classes if they are classes)", at::toString(expected));
  if (!classes) return;
  check_input(*classes >= 1, "there are {} classes: must be at least 1", *classes);
  check_input(targets_.numel() == 0 || (targets_.min().item<std::int64_t>() >= 0 && targets_.max().item<std::int64_t>() < *classes),
              "a target is no class: must be in [0, {}]", *classes - 1);
}

Batch TensorRows::gather(std::span<const std::int64_t> rows) const {
  for (std::int64_t row : rows) check_input(row >= 0 && row < count(), "row {}: must be in [0, {}]", row, count() - 1);
  const at::Tensor which = at::from_blob(const_cast<std::int64_t*>(rows.data()), {static_cast<std::int64_t>(rows.size())}, at::kLong);
  std::vector<at::Tensor> inputs;
  for (const at::Tensor& tensor : inputs_) inputs.push_back(tensor.index_select(0, which));
  return {std::move(inputs), targets_.index_select(0, which)};
}

}  // namespace fodp
