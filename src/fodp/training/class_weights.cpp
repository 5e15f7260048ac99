#include "fodp/training/class_weights.h"

#include <algorithm>

#include <ATen/ops/tensor.h>
#include <fmt/ranges.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::size_t kMostNamed = 12;  // of classes that a message lists

const Range kAllowed = above_up_to(0, 1e6);

std::string name_of(std::size_t index, const std::vector<std::string>& names) {
  return index < names.size() ? names[index] : std::to_string(index);
}

// The first classes, each as `one` says it.
template <class One>
std::string listed(std::size_t classes, const One& one) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(kMostNamed, classes); ++i) texts.push_back(one(i));
  if (classes > kMostNamed) texts.emplace_back("...");
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

at::Tensor ClassWeights::tensor() const { return empty() ? at::Tensor() : at::tensor(weights, at::kFloat); }

ClassWeights FieldText<ClassWeights>::parse(std::string_view text, std::string_view where, const Range&) {
  ClassWeights out;
  if (text.empty()) return out;
  check_input(text.find('=') == text.npos,
              "{}: '{}' is not a list of weights: give one number for each class, in the order of the classes, such as 1,5", where, text);
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    out.weights.push_back(parse_number(text.substr(0, comma), where, kAllowed));
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  return out;
}

std::string FieldText<ClassWeights>::print(const ClassWeights& value) {
  std::vector<std::string> texts;
  for (const double weight : value.weights) texts.push_back(number_text(weight));
  return fmt::format("{}", fmt::join(texts, ","));
}

void check_class_weights(const ClassWeights& weights, const Target& target, const std::vector<std::string>& names) {
  if (weights.empty()) return;
  check_input(target.kind == Target::Kind::classes, "`class-weights`: what is predicted is a number and has no classes: leave it out");
  check_input(static_cast<std::int64_t>(weights.weights.size()) == target.classes,
              "`class-weights`: {} weight{}: there are {} classes, and each needs one, in this order: {}", weights.weights.size(),
              weights.weights.size() == 1 ? "" : "s", target.classes,
              listed(static_cast<std::size_t>(target.classes), [&](std::size_t i) { return name_of(i, names); }));
  for (std::size_t i = 0; i < weights.weights.size(); ++i)
    check_input(kAllowed.contains(weights.weights[i]), "`class-weights`: {} for class {} is not allowed; must be {}",
                number_text(weights.weights[i]), name_of(i, names), kAllowed.text());
}

std::string class_weights_text(const ClassWeights& weights, const std::vector<std::string>& names) {
  return listed(weights.weights.size(),
                [&](std::size_t i) { return fmt::format("{} {}", name_of(i, names), number_text(weights.weights[i])); });
}

}  // namespace fodp
