// fodp::nn::Linear: torch::nn::Linear's options, names, state dict and values, with book-keeping for private training.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/options/linear.h>
#include <torch/nn/pimpl.h>

#include "fodp/gradients/tape.h"

namespace fodp {

// Computes at::linear, from [rows, ..., in] to [rows, ..., out], and lets weight and bias write to the tape where they are trainable. Both
// must be parameters or contiguous parts of parameters; the bias may be undefined. An input in bfloat16 is taken as the float32 that it
// stands for.
at::Tensor recorded_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

namespace nn {

class LinearImpl : public torch::nn::Cloneable<LinearImpl>, public PrivateLayer {
 public:
  LinearImpl(std::int64_t in_features, std::int64_t out_features) : LinearImpl(torch::nn::LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const torch::nn::LinearOptions& options);

  void reset() override;
  void reset_parameters();  // initial values as in PyTorch: uniform in +-1/sqrt(in_features)
  void pretty_print(std::ostream& stream) const override;

  // Takes [rows, ..., in_features] and gives [rows, ..., out_features]. Inputs may be bfloat16, which is widened to float32.
  at::Tensor forward(const at::Tensor& input);

  torch::nn::LinearOptions options;
  at::Tensor weight, bias;
};

TORCH_MODULE(Linear);

}  // namespace nn
}  // namespace fodp
