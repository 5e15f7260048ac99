#include "fodp/gradients/tape.h"

#include <string>
#include <unordered_map>

#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/gradients/parameters.h"

namespace fodp {
namespace {

thread_local Tape* current_tape = nullptr;

// What to use in place of a torch layer, by the end of its type's name.
const std::pair<const char*, const char*> kInstead[] = {
    {"BatchNorm",
     "it mixes the examples of a batch, so no gradient belongs to one example; use a norm over one example (group or layer norm), "
     "or freeze it in eval mode"},
    {"InstanceNorm", "use fodp's layers; with track_running_stats it also mixes examples"},
    {"LinearImpl", "use fodp::nn::Linear, which takes the same options and state dict"},
};

std::string advice(const std::string& type) {
  for (const auto& [part, text] : kInstead)
    if (type.find(part) != std::string::npos) return text;
  return "no layer of fodp::nn records its gradients per example; build it from fodp::nn layers or freeze it with requires_grad_(false)";
}

bool mixes_examples(const std::string& type) { return type.find("BatchNorm") != std::string::npos; }

}  // namespace

Tape* Tape::current() { return current_tape; }

Tape::Recording::Recording(Tape& tape) : outer_(current_tape) { current_tape = &tape; }
Tape::Recording::~Recording() { current_tape = outer_; }

void Tape::check_covers(const FlatParameters& parameters) const {
  std::unordered_map<std::int64_t, int> uses;
  for (const auto& record : records_)
    for (const at::Tensor& parameter : record->parameters()) ++uses[parameters.offset_of(parameter)];
  for (std::size_t i = 0; i < parameters.slices().size(); ++i) {
    const FlatParameters::Slice& slice = parameters.slices()[i];
    const int count = uses[slice.offset];
    check_privacy(count != 0,
                  "parameter '{}' left no record in the backward pass: every trainable parameter must be used by the loss of each "
                  "example through its fodp::nn layer; freeze it with requires_grad_(false) if it is not meant to be trained",
                  slice.name);
    check_privacy(count == 1,
                  "parameter '{}' was used {} times in one forward pass: the norm of the sum of its uses is not known from them one "
                  "by one; give each use its own layer",
                  slice.name, count);
    check_privacy(
        !parameters.tensors()[i].grad().defined(),
        "parameter '{}' received an ordinary gradient, which is not clipped per example: use it only inside its fodp::nn layer, and "
        "do not call backward() on the model elsewhere without zero_grad()",
        slice.name);
  }
}

void check_model(const torch::nn::Module& module) {
  for (const auto& item : module.named_modules("", /*include_self=*/true)) {
    const torch::nn::Module& part = *item.value();
    const std::string where = item.key().empty() ? "the model itself" : "layer '" + item.key() + "'";
    const bool trainable_mixer = mixes_examples(part.name()) && part.is_training();
    check_privacy(!trainable_mixer, "{} ({}) cannot be trained privately: {}", where, part.name(), advice(part.name()));
    if (dynamic_cast<const PrivateLayer*>(&part) != nullptr) continue;
    for (const auto& parameter : part.named_parameters(/*recurse=*/false))
      check_privacy(!parameter.value().requires_grad(), "{} ({}) cannot be trained privately: its parameter '{}' is not covered: {}", where,
                    part.name(), parameter.key(), advice(part.name()));
  }
}

}  // namespace fodp
