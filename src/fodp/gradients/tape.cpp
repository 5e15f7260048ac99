#include "fodp/gradients/tape.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/ranges.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/gradients/parameters.h"

namespace fodp {
namespace {

thread_local Tape* current_tape = nullptr;

// What to use in place of a torch layer, found by a part of the name of its type.
const std::pair<const char*, const char*> kInstead[] = {
    {"BatchNorm",
     "it mixes the examples of a batch, so no gradient belongs to one example; use a norm over one example (fodp::nn::GroupNorm or "
     "LayerNorm), or freeze it in eval mode"},
    {"InstanceNorm", "use fodp::nn::GroupNorm with as many groups as channels, which is the same and keeps no running averages"},
    {"LinearImpl", "use fodp::nn::Linear, which takes the same options and state dict"},
    {"Conv1dImpl", "use fodp::nn::Conv1d, which takes the same options and state dict"},
    {"Conv2dImpl", "use fodp::nn::Conv2d, which takes the same options and state dict"},
    {"EmbeddingImpl", "use fodp::nn::Embedding, which takes the same options and state dict"},
    {"LayerNormImpl", "use fodp::nn::LayerNorm, which takes the same options and state dict"},
    {"GroupNormImpl", "use fodp::nn::GroupNorm, which takes the same options and state dict"},
    {"MultiheadAttention", "use fodp::nn::MultiheadAttention, which has the same state dict and takes rows first"},
    {"Transformer", "build it from fodp::nn::MultiheadAttention, LayerNorm and Linear (examples/05_transformer)"},
};

std::string advice(const std::string& type) {
  for (const auto& [part, text] : kInstead)
    if (type.find(part) != std::string::npos) return text;
  return "no layer of fodp::nn records its gradients per example; build it from fodp::nn layers or freeze it with requires_grad_(false)";
}

// Whether a module mixes examples while it trains. InstanceNorm does so through its running averages only, which are its buffers.
bool mixes_examples(const torch::nn::Module& module) {
  return module.name().find("BatchNorm") != std::string::npos ||
         (module.name().find("InstanceNorm") != std::string::npos && !module.buffers(/*recurse=*/false).empty());
}

// Whether check_model has nothing against a module, its children aside.
bool is_covered_itself(const torch::nn::Module& part) {
  if (part.is_training() && mixes_examples(part)) return false;
  if (dynamic_cast<const PrivateLayer*>(&part) != nullptr) return true;
  return std::ranges::none_of(part.parameters(/*recurse=*/false), [](const at::Tensor& parameter) { return parameter.requires_grad(); });
}

// The same with its children. It runs before every clipped sum, so it asks torch for no names.
bool is_covered(const torch::nn::Module& module) {
  return is_covered_itself(module) && std::ranges::all_of(module.children(), [](const auto& child) { return is_covered(*child); });
}

// "its parameters 'weight', 'bias' are not covered"
std::string uncovered_parameters(const torch::nn::Module& part) {
  std::vector<std::string> names;
  for (const auto& parameter : part.named_parameters(/*recurse=*/false))
    if (parameter.value().requires_grad()) names.push_back("'" + parameter.key() + "'");
  return fmt::format("its parameter{} {} {} not covered", names.size() == 1 ? "" : "s", fmt::join(names, ", "),
                     names.size() == 1 ? "is" : "are");
}

}  // namespace

bool Tape::records(std::initializer_list<at::Tensor> parameters) {
  if (current_tape == nullptr || !at::GradMode::is_enabled()) return false;
  return std::ranges::any_of(parameters, [](const at::Tensor& parameter) { return parameter.defined() && parameter.requires_grad(); });
}

void Tape::add_to_current(std::unique_ptr<Record> record) {
  check_privacy(current_tape != nullptr, "backward() through a recorded fodp::nn layer outside its recording");
  current_tape->records_.push_back(std::move(record));
}

Tape::Recording::Recording(Tape& tape) : outer_(current_tape) { current_tape = &tape; }
Tape::Recording::~Recording() { current_tape = outer_; }

std::int64_t Tape::elements() const {
  std::int64_t total = 0;
  for (const auto& record : records_) total += record->elements();
  return total;
}

void Tape::check_covers(const FlatParameters& parameters, std::int64_t rows) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> covered;  // where each part begins and ends
  for (const auto& record : records_)
    for (const at::Tensor& part : record->parameters()) {
      const std::int64_t begin = parameters.offset_of(part);
      check_privacy(
          begin >= 0,
          "a layer's weight of shape [{}] is not a parameter of the model: fodp::nn layers train their own parameters, not values "
          "computed from others",
          fmt::join(part.sizes(), ", "));
      check_privacy(record->rows() == rows,
                    "parameter '{}' did not meet as many rows as the batch has: every fodp::nn layer must have the rows in its first "
                    "dimension and all other positions of a row behind it",
                    parameters.name_at(begin));
      covered.emplace_back(begin, begin + part.numel());
    }
  std::ranges::sort(covered);
  std::int64_t end = 0;
  const auto check_whole = [&](std::int64_t begin) {
    check_privacy(begin <= end,
                  "parameter '{}' left no record in the backward pass: every trainable parameter must be used by the loss of each "
                  "example through its fodp::nn layer; freeze it with requires_grad_(false) if it is not meant to be trained",
                  parameters.name_at(end));
  };
  for (const auto& [begin, part_end] : covered) {
    check_whole(begin);
    check_privacy(begin >= end,
                  "parameter '{}' was used more than once in one forward pass: the norm of the sum of its uses is not known from them one "
                  "by one; give each use its own layer",
                  parameters.name_at(begin));
    end = part_end;
  }
  check_whole(parameters.size());
}

void check_model(const torch::nn::Module& module) {
  if (is_covered(module)) return;
  std::vector<std::string> problems;
  for (const auto& item : module.named_modules("", /*include_self=*/true)) {
    const torch::nn::Module& part = *item.value();
    if (is_covered_itself(part)) continue;
    const std::string where = item.key().empty() ? "the model itself" : "layer '" + item.key() + "'";
    const std::string what = part.is_training() && mixes_examples(part) ? "" : uncovered_parameters(part) + ": ";
    problems.push_back(fmt::format("{} ({}) cannot be trained privately: {}{}", where, part.name(), what, advice(part.name())));
  }
  for (std::string& problem : FlatParameters::problems_of(module)) problems.push_back(std::move(problem));
  refuse_model(problems);
}

}  // namespace fodp
