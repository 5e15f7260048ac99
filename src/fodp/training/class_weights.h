// How much each class counts in the loss: a number for each class, in the order of the classes, that the loss of every example of the class
// is multiplied by.
//
// The weight comes before the example's gradient is clipped, so that it changes neither what one example can add to a sum nor what the run
// costs. The numbers are public options, like the learning rate. They must not be computed from the training examples: how often a class
// occurs among them is private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/base/fields.h"
#include "fodp/data/rows.h"

namespace fodp {

struct ClassWeights {
  std::vector<double> weights;  // empty: every class counts the same

  bool empty() const { return weights.empty(); }
  at::Tensor tensor() const;  // float32, [classes]; undefined if empty
};

// As text: numbers with commas between them.
template <>
struct FieldText<ClassWeights> {
  static ClassWeights parse(std::string_view text, std::string_view where, const Range& range);
  static std::string print(const ClassWeights& value);
  static FieldValue value(const ClassWeights& value) { return value.empty() ? FieldValue() : FieldValue(print(value)); }
};

// InputError for weights of a target that is a number, for another number of weights than there are classes, and for one that is not in
// (0, 1e6]. `names` are those of the classes, for the message; there may be none.
void check_class_weights(const ClassWeights& weights, const Target& target, const std::vector<std::string>& names);

// The weights for people: "no 1, yes 5". Classes without names are numbered from 0.
std::string class_weights_text(const ClassWeights& weights, const std::vector<std::string>& names);

}  // namespace fodp
