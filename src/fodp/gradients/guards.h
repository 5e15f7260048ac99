// What must hold around a pass of private rows through a model, beyond what the tape checks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace fodp {

class FlatParameters;

// The forward and backward of private rows must leave nothing behind but the tape: no parameter, frozen or not, and no buffer changes.
class Untouched {
 public:
  explicit Untouched(const torch::nn::Module& model);

  void check() const;  // PrivacyError naming what changed

 private:
  using State = std::pair<const void*, std::uint32_t>;  // where it is, and how often it was written to
  struct Watched {
    std::string name;
    at::Tensor tensor;
    State state;
  };

  std::vector<Watched> watched_;
};

// Walks back from the loss to what it is computed from: nothing trainable may be met but the parameters. With `elements`, counts the
// numbers that the forward pass made.
void check_graph(const at::Tensor& losses, const FlatParameters& parameters, std::int64_t* elements);

}  // namespace fodp
