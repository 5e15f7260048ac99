// Rows from files of arrays (array_file.h): inputs and their labels, found by their names, as tensors in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/base/sha256.h"
#include "fodp/data/array_file.h"
#include "fodp/data/byte_rows.h"
#include "fodp/data/held_out.h"

namespace fodp {

// What labels are: classes, or numbers with bounds, which are scaled so that the bounds are -1 and 1. Both are public.
struct LabelRule {
  std::optional<std::int64_t> classes;
  double low = -1, high = 1;

  double scale() const { return high / 2 - low / 2; }
  Target target() const;
};

class LabelledArrays {
 public:
  // Opens the file and reads its headers. A .npy file holds the inputs, and `labels` names the .npy file of the labels; any other file
  // holds both, the inputs under one of the names x, inputs, images, data and features and the labels under one of y, labels, targets,
  // label and target, in capitals or not. `labels_option` is what messages call `labels`. InputError if something is missing, comes twice,
  // or has a shape that no rows have.
  LabelledArrays(const std::string& file, const std::optional<std::string>& labels, bool with_labels, std::string_view labels_option);

  const std::string& file() const { return inputs_->file(); }
  std::int64_t count() const { return count_; }
  bool bytes() const { return info_.type == at::kByte; }
  // Of a row: [numbers], or [channels, height, width], with one channel for arrays of [rows, height, width].
  const std::vector<std::int64_t>& shape() const { return shape_; }

  struct Loaded {
    std::shared_ptr<const Rows> rows;
    std::vector<bool> held_out;  // for each row; empty without a hold-out
  };
  // InputError, with the number of the row from 1, for an input that is not finite and for a label that is no class or not finite. Without
  // labels, all targets are 0. The digest gets type, shape and values of the inputs and then of the labels.
  Loaded load(const Normalisation& normalisation, const LabelRule& rule, std::optional<HoldOut> hold_out, Sha256* contents);

 private:
  std::vector<std::uint8_t> read_bytes(Sha256* contents);
  at::Tensor read_floats(Sha256* contents);
  at::Tensor read_labels(const LabelRule& rule, Sha256* contents);

  std::shared_ptr<ArrayFile> inputs_, labels_;  // labels_ is null without labels
  std::size_t inputs_place_ = 0, labels_place_ = 0;
  ArrayInfo info_;
  std::vector<std::int64_t> shape_;
  std::int64_t count_ = 0, features_ = 0;
};

}  // namespace fodp
