#include "fodp/gradients/guards.h"

#include <unordered_set>

#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/gradients/parameters.h"

namespace fodp {
namespace {

std::pair<const void*, std::uint32_t> state_of(const at::Tensor& tensor) { return {tensor.data_ptr(), tensor._version()}; }

}  // namespace

Untouched::Untouched(const torch::nn::Module& model) {
  for (const auto& item : model.named_parameters()) watched_.push_back({item.key(), item.value(), state_of(item.value())});
  for (const auto& item : model.named_buffers()) watched_.push_back({item.key(), item.value(), state_of(item.value())});
}

void Untouched::check() const {
  for (const Watched& watched : watched_)
    check_privacy(
        state_of(watched.tensor) == watched.state,
        "'{}' was changed by the forward pass: it would carry training data without noise into the model; put its layer into eval "
        "mode or remove it, and start from a fresh copy of the model",
        watched.name);
}

void check_graph(const at::Tensor& losses, const FlatParameters& parameters, std::int64_t* elements) {
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open = {losses.grad_fn().get()};
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node)) {
      check_privacy(
          parameters.offset_of(leaf->variable) >= 0,
          "the loss depends on a trainable tensor of shape [{}] that is not a parameter of the model: register its module, or freeze "
          "it with requires_grad_(false)",
          fmt::join(leaf->variable.sizes(), ", "));
      continue;
    }
    // LibTorch 1.13 tells the shape of an output in one way only, as a tensor of zeros.
    for (std::uint32_t i = 0; elements && i < node->num_inputs(); ++i) *elements += node->input_metadata(i).zeros_like().numel();
    for (const torch::autograd::Edge& edge : node->next_edges()) open.push_back(edge.function.get());
  }
}

}  // namespace fodp
