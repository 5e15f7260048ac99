#include "fodp/gradients/parameters.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// Whether two tensors share an element. Tensors that interleave in one storage count as sharing.
bool overlap(const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_alias_of(b)) return false;
  const auto end = [](const at::Tensor& tensor) {
    std::int64_t last = tensor.storage_offset();
    for (std::int64_t axis = 0; axis < tensor.dim(); ++axis) last += std::max<std::int64_t>(0, tensor.size(axis) - 1) * tensor.stride(axis);
    return last + 1;
  };
  return a.storage_offset() < end(b) && b.storage_offset() < end(a);
}

}  // namespace

void refuse_model(const std::vector<std::string>& problems) {
  check_privacy(problems.size() != 1, "{}", problems.empty() ? "" : problems.front());
  check_privacy(problems.empty(), "the model cannot be trained privately, for {} reasons:\n- {}", problems.size(),
                fmt::join(problems, "\n- "));
}

std::vector<FlatParameters::Slice> FlatParameters::slices_of(const torch::nn::Module& module) {
  std::vector<Slice> slices;
  std::int64_t total = 0;
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& parameter = item.value();
    if (!parameter.requires_grad()) continue;
    slices.push_back({item.key(), total, parameter.numel(), parameter.sizes().vec()});
    total += parameter.numel();
  }
  return slices;
}

// A module lists its own parameters before its children's, so those of a layer are neighbours.
std::vector<LayerGroup> FlatParameters::layers_of(const std::vector<Slice>& slices) {
  std::vector<LayerGroup> layers;
  for (const Slice& slice : slices) {
    const std::size_t dot = slice.name.rfind('.');
    const std::string layer = dot == std::string::npos ? "" : slice.name.substr(0, dot);
    if (layers.empty() || layers.back().name != layer) layers.push_back({layer, slice.offset, slice.offset});
    LayerGroup& group = layers.back();
    group.end = slice.offset + slice.size;
    if (group.rows == 0 && slice.shape.size() >= 2 && slice.size > 0) {
      group.matrix_offset = slice.offset;
      group.rows = slice.shape[0];
      group.columns = slice.size / slice.shape[0];
    }
  }
  return layers;
}

std::vector<std::string> FlatParameters::problems_of(const torch::nn::Module& module) {
  std::vector<std::string> problems;
  std::vector<std::pair<std::string, at::Tensor>> trainable;
  std::int64_t total = 0;
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& parameter = item.value();
    if (!parameter.requires_grad()) continue;
    if (parameter.scalar_type() != at::kFloat || !parameter.device().is_cpu())
      problems.push_back(fmt::format(
          "parameter '{}' is {} on {}: private training needs float32 on the CPU; call model.to(torch::kFloat32) and model.to(torch::kCPU)",
          item.key(), at::toString(parameter.scalar_type()), parameter.device().str()));
    for (const auto& [name, other] : trainable)
      if (overlap(other, parameter))
        problems.push_back(fmt::format(
            "parameters '{}' and '{}' share one tensor: their per-example gradients would be bounded one by one, not together; give each "
            "its own tensor",
            name, item.key()));
    trainable.emplace_back(item.key(), parameter);
    total += parameter.numel();
  }
  if (total == 0) problems.emplace_back("the model has no trainable parameter: nothing to train");
  return problems;
}

FlatParameters::FlatParameters(torch::nn::Module& module) : slices_(slices_of(module)), layers_(layers_of(slices_)) {
  refuse_model(problems_of(module));
  std::int64_t total = 0;
  for (const at::Tensor& parameter : module.parameters()) {
    if (!parameter.requires_grad()) continue;
    tensors_.push_back(parameter);
    total += parameter.numel();
  }

  at::NoGradGuard no_grad;
  flat_ = at::empty({total}, at::kFloat);
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    at::Tensor view = flat_.narrow(0, slices_[i].offset, slices_[i].size).view(slices_[i].shape);
    view.copy_(tensors_[i]);
    tensors_[i].set_data(view);
  }
}

std::span<float> FlatParameters::values() { return {flat_.data_ptr<float>(), static_cast<std::size_t>(size())}; }
std::span<const float> FlatParameters::values() const { return {flat_.data_ptr<float>(), static_cast<std::size_t>(size())}; }

std::int64_t FlatParameters::offset_of(const at::Tensor& parameter) const {
  if (!parameter.defined() || parameter.scalar_type() != at::kFloat || !parameter.is_contiguous()) return -1;
  const std::int64_t offset = parameter.data_ptr<float>() - flat_.data_ptr<float>();
  return offset >= 0 && offset + parameter.numel() <= size() ? offset : -1;
}

at::Tensor FlatParameters::place_of(const at::Tensor& parameter, const at::Tensor& vector) const {
  return vector.narrow(0, offset_of(parameter), parameter.numel()).view(parameter.sizes());
}

const std::string& FlatParameters::name_at(std::int64_t offset) const {
  return std::ranges::find_if(slices_, [&](const Slice& slice) { return offset < slice.offset + slice.size; })->name;
}

void FlatParameters::check_views() const {
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const at::Tensor& tensor = tensors_[i];
    check_privacy(
        tensor.scalar_type() == at::kFloat && tensor.is_contiguous() && tensor.numel() == slices_[i].size &&
            offset_of(tensor) == slices_[i].offset,
        "parameter '{}' is no longer a view of the flat vector (was the model moved or loaded with to() or load after it was made "
        "private?); move or load first, then make it private",
        slices_[i].name);
  }
}

}  // namespace fodp
