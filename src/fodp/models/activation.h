// The activation that --activation names, as a layer of a Sequential.
#pragma once

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>

#include "fodp/models/model.h"

namespace fodp {

inline void push_activation(torch::nn::Sequential& layers, Activation activation) {
  if (activation == Activation::tanh) layers->push_back(torch::nn::Tanh());
  if (activation == Activation::relu) layers->push_back(torch::nn::ReLU());
}

}  // namespace fodp
