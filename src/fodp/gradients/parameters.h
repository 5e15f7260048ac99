// The trainable parameters of a model as one contiguous float32 vector. The modules hold views of it, so that a release and an update are
// one pass over memory. Frozen parameters (requires_grad false) stay where they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/stages/context.h"

namespace torch::nn {
class Module;
}

namespace fodp {

// Throws one PrivacyError that lists these problems of a model, each on a line of its own if there are several. Nothing happens without
// any.
void refuse_model(const std::vector<std::string>& problems);

class FlatParameters {
 public:
  struct Slice {
    std::string name;  // as in the state dict
    std::int64_t offset, size;
    std::vector<std::int64_t> shape;
  };

  // Where in the vector the trainable parameters of a module would lie, and how they group into layers. Both are public, since they do not
  // depend on the values of the parameters.
  static std::vector<Slice> slices_of(const torch::nn::Module& module);
  static std::vector<LayerGroup> layers_of(const std::vector<Slice>& slices);

  // Why a module's parameters cannot be moved into one vector, with what to do: there are none, one is not float32 on the CPU, or two names
  // share a tensor.
  static std::vector<std::string> problems_of(const torch::nn::Module& module);

  // Moves the parameters into one vector. PrivacyError with all problems if there are any.
  explicit FlatParameters(torch::nn::Module& module);

  std::int64_t size() const { return flat_.numel(); }
  const std::vector<Slice>& slices() const { return slices_; }
  const std::vector<LayerGroup>& layers() const { return layers_; }
  std::span<float> values();
  std::span<const float> values() const;

  // The coordinate at which this parameter, or part of one, starts. It is -1 for a tensor that is not a contiguous view of the vector.
  std::int64_t offset_of(const at::Tensor& parameter) const;

  // The part of `vector` that belongs to the parameter, in the shape of the parameter. `vector` must be laid out like this one.
  at::Tensor place_of(const at::Tensor& parameter, const at::Tensor& vector) const;

  // The name of the parameter that this coordinate belongs to.
  const std::string& name_at(std::int64_t offset) const;

  // The parameters as the modules hold them, which are views of the vector.
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

  // Throws a PrivacyError if a parameter is no longer a view of the vector, as after Module::to() or a load that replaces tensors.
  void check_views() const;

 private:
  at::Tensor flat_;
  std::vector<Slice> slices_;
  std::vector<LayerGroup> layers_;
  std::vector<at::Tensor> tensors_;  // shared with the modules, so that a replaced storage shows here
};

}  // namespace fodp
