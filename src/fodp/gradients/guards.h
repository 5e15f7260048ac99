// Checks around a forward and backward pass of private rows through a model, beyond those that the tape makes (tape.h).
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

// Remembers the state of a model, to check later that a forward and backward pass of private rows left nothing behind but the tape: no
// parameter, frozen or not, and no buffer may have changed.
class Untouched {
 public:
  explicit Untouched(const torch::nn::Module& model);

  void check() const;  // throws a PrivacyError that names what changed

 private:
  using State = std::pair<const void*, std::uint32_t>;  // the address of a tensor's numbers, and how often it was written to
  struct Watched {
    std::string name;
    at::Tensor tensor;
    State state;
  };

  std::vector<Watched> watched_;
};

// Walks the autograd graph back from the loss. PrivacyError if it meets a trainable tensor that is not one of the parameters. If `elements`
// is given, adds to it how many numbers the forward pass made.
void check_graph(const at::Tensor& losses, const FlatParameters& parameters, std::int64_t* elements);

}  // namespace fodp
