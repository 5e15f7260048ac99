// The trainable parameters of a model as one contiguous float32 vector; the modules hold views of it, so that a release and an update are
// one pass over memory. Frozen parameters (requires_grad false) stay where they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace fodp {

// A layer's own parameters, weight and bias together: coordinates [begin, end) of the vector.
struct LayerGroup {
  std::string name;
  std::int64_t begin, end;
  // Its first parameter with two axes or more, seen as a matrix (first axis, rest); 0 rows if there is none.
  std::int64_t matrix_offset = 0, rows = 0, columns = 0;
};

class FlatParameters {
 public:
  struct Slice {
    std::string name;  // the state dict's
    std::int64_t offset, size;
    std::vector<std::int64_t> shape;
  };

  // Where the trainable parameters of a module would lie, and how they group into layers: public, whatever the values.
  static std::vector<Slice> slices_of(const torch::nn::Module& module);
  static std::vector<LayerGroup> layers_of(const std::vector<Slice>& slices);

  // Moves the parameters into one vector. PrivacyError for what cannot be trained so: none at all, not float32 on the CPU, or one tensor
  // under two names.
  explicit FlatParameters(torch::nn::Module& module);

  std::int64_t size() const { return flat_.numel(); }
  const std::vector<Slice>& slices() const { return slices_; }
  const std::vector<LayerGroup>& layers() const { return layers_; }
  std::span<float> values();
  std::span<const float> values() const;

  // Where this parameter, or part of one, starts in the vector; -1 for a tensor that is not a contiguous view of it.
  std::int64_t offset_of(const at::Tensor& parameter) const;

  // The part of `vector`, which is laid out like this one, that belongs to the parameter, in its shape.
  at::Tensor place_of(const at::Tensor& parameter, const at::Tensor& vector) const;

  // The name of the parameter that this coordinate belongs to.
  const std::string& name_at(std::int64_t offset) const;

  // The tensors as the modules hold them: views of the vector.
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

  // PrivacyError if a parameter is no longer a view of the vector, as after Module::to() or a load that replaces tensors.
  void check_views() const;

 private:
  at::Tensor flat_;
  std::vector<Slice> slices_;
  std::vector<LayerGroup> layers_;
  std::vector<at::Tensor> tensors_;  // the modules' own handles: a replaced storage shows here
};

}  // namespace fodp
