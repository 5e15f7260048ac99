// A model as TorchScript: the same layers with the same names and values, in a form that PyTorch runs without this library.
#pragma once

#include <string>

#include <torch/csrc/jit/api/module.h>

namespace torch::nn {
class Module;
}

namespace fodp {

// A module that is more than a list of layers says here what it computes.
class Scripted {
 public:
  virtual ~Scripted() = default;
  // TorchScript that defines forward(self, x) by the names of the module's own parts.
  virtual std::string script() const = 0;
};

// The module and all of its parts, with a method forward(x) each. Parameters are copied. FaultError for a layer that none of the models of
// this folder has.
torch::jit::Module to_script(const torch::nn::Module& module);

}  // namespace fodp
