// Rows of any kind: what a run trains and tests on. A row is one record, its inputs and its target together; images, tables and texts are
// all rows to the rest of the library.
//
// Clipping bounds what one row adds to a sum, and that bound is worth something only if rows do not reach into each other:
//   - gather() gives each row by itself: the same values whichever other rows are asked for with it.
//   - All rows have one shape, known before any of them is read. Padding to the longest row of a batch would let one row change what the
//     model computes for its neighbours; pad to a fixed length instead.
//   - The number of rows, the shapes and types, and the number of classes are public. A number of classes that is counted in the labels is
//     not public: state it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace fodp {

// The shape and type of one row of a tensor, without the dimension of the rows.
struct RowShape {
  std::vector<std::int64_t> shape;
  at::ScalarType type = at::kFloat;

  friend bool operator==(const RowShape&, const RowShape&) = default;
};

// The inputs of a batch: one tensor most often, several where a model takes several. The rows are the first dimension of each. Where there
// is one tensor, it can be used as that tensor.
class Tensors {
 public:
  Tensors() = default;
  Tensors(at::Tensor one) : all_{std::move(one)} {}
  Tensors(std::vector<at::Tensor> several) : all_(std::move(several)) {}
  Tensors(std::initializer_list<at::Tensor> several) : all_(several) {}

  std::size_t size() const { return all_.size(); }
  const at::Tensor& operator[](std::size_t i) const { return all_[i]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

  std::int64_t rows() const;                 // of the first tensor; InputError if there is none or it has no dimension
  operator const at::Tensor&() const;        // InputError unless there is exactly one
  std::vector<RowShape> row_shapes() const;  // of each tensor

 private:
  std::vector<at::Tensor> all_;
};

struct Batch {
  Tensors inputs;
  at::Tensor targets;
};

using Gather = std::function<Batch(std::span<const std::int64_t> rows)>;

// A random word for each row of a lot, by the row's number: the same for one lot and row however often it is asked for.
using RowWords = std::function<std::uint64_t(std::int64_t row)>;
using DrawnGather = std::function<Batch(std::span<const std::int64_t> rows, const RowWords& words)>;

// What a model learns to predict: one of so many classes, numbered from 0, or a number.
struct Target {
  enum class Kind { classes, number };
  Kind kind = Kind::classes;
  std::int64_t classes = 0;  // 0 for a number
  RowShape row = {};         // int64 for classes, float32 for a number
};

class Rows {
 public:
  virtual ~Rows() = default;

  virtual std::int64_t count() const = 0;
  virtual std::vector<RowShape> inputs() const = 0;
  virtual Target target() const = 0;

  // These rows, numbered from 0, in this order. Called from several threads at once. InputError for a row that does not exist.
  virtual Batch gather(std::span<const std::int64_t> rows) const = 0;

  // Whether what stands for a row is drawn anew for each lot, as one row of a unit is; and these rows as drawn by the lot's words.
  virtual bool draws() const { return false; }
  virtual Batch gather_drawn(std::span<const std::int64_t> rows, const RowWords& /*words*/) const { return gather(rows); }

  // The bytes that the inputs are made of, row after row, where rows are kept as bytes, as images are; nothing elsewhere.
  virtual std::span<const std::uint8_t> bytes() const { return {}; }
};

// Rows of tensors that are in memory already. It shares their storage: nothing may write to them while it is in use.
class TensorRows : public Rows {
 public:
  // With a number of classes the targets are classes, int64; without, they are numbers, float32. InputError if a tensor has another number
  // of rows than the others, if there is no row, or for targets of another type or class.
  TensorRows(Tensors inputs, at::Tensor targets, std::optional<std::int64_t> classes = {});

  std::int64_t count() const override { return targets_.size(0); }
  std::vector<RowShape> inputs() const override { return inputs_.row_shapes(); }
  Target target() const override { return target_; }
  Batch gather(std::span<const std::int64_t> rows) const override;

 private:
  Tensors inputs_;
  at::Tensor targets_;
  Target target_;
};

}  // namespace fodp
