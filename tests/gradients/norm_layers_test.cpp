#include <random>

#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/gradients/conv.h"
#include "fodp/gradients/group_norm.h"
#include "fodp/gradients/layer_norm.h"
#include "fodp/gradients/linear.h"
#include "fodp/gradients/rms_norm.h"
#include "gradients/agreement.h"

namespace fodp {
namespace {

using testing::expect_equals_one_by_one;

void expect_agreement(torch::nn::Sequential ours, torch::nn::Sequential theirs, const at::Tensor& inputs) {
  // Weights of 1 and biases of 0 would hide errors.
  for (auto& parameter : ours->parameters()) parameter.data().add_(torch::randn_like(parameter.data()) * .3);
  expect_equals_one_by_one(
      *ours, [&](const at::Tensor& x) { return ours->forward(x); }, *theirs, [&](const at::Tensor& x) { return theirs->forward(x); },
      inputs, 3e-4);
}

struct DrawnInput {
  std::mt19937 engine{9};
  std::int64_t operator()(int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); }
};

TEST(LayerNorm, ClippedSumAndNormsEqualAutogradOneByOne) {
  DrawnInput pick;
  for (int i = 0; i < 12; ++i) {
    torch::manual_seed(i);
    const std::int64_t rows = i < 2 ? i : pick(2, 9), in = pick(2, 8), width = pick(2, 9), positions = pick(1, 5);
    torch::nn::LayerNormOptions options({width});
    options.elementwise_affine(i != 3);
    expect_agreement(torch::nn::Sequential(nn::Linear(in, width), nn::LayerNorm(options), nn::Linear(width, 3)),
                     torch::nn::Sequential(torch::nn::Linear(in, width), torch::nn::LayerNorm(options), torch::nn::Linear(width, 3)),
                     i % 2 ? torch::randn({rows, in}) : torch::randn({rows, positions, in}));
  }
}

TEST(LayerNorm, OverSeveralDimensions) {
  torch::manual_seed(1);
  const torch::nn::LayerNormOptions options({4, 5});
  expect_agreement(torch::nn::Sequential(nn::Linear(6, 5), nn::LayerNorm(options)),
                   torch::nn::Sequential(torch::nn::Linear(6, 5), torch::nn::LayerNorm(options)), torch::randn({3, 2, 4, 6}));
}

TEST(GroupNorm, ClippedSumAndNormsEqualAutogradOneByOne) {
  DrawnInput pick;
  for (int i = 0; i < 12; ++i) {
    torch::manual_seed(i);
    const std::int64_t rows = i < 2 ? i : pick(2, 9), groups = pick(1, 3), channels = groups * pick(1, 4);
    const torch::nn::Conv2dOptions convolution(2, channels, 3);
    torch::nn::GroupNormOptions options(groups, channels);
    options.affine(i != 3);
    expect_agreement(torch::nn::Sequential(nn::Conv2d(convolution), nn::GroupNorm(options)),
                     torch::nn::Sequential(torch::nn::Conv2d(convolution), torch::nn::GroupNorm(options)), torch::randn({rows, 2, 6, 7}));
  }
}

// Python's RMSNorm, by its definition; C++ has none to compare with.
struct ReferenceRmsNorm : torch::nn::Module {
  explicit ReferenceRmsNorm(std::int64_t width) { weight = register_parameter("weight", torch::ones(width)); }
  at::Tensor forward(const at::Tensor& x) { return x / (x * x).mean(-1, true).add(1.1920928955078125e-07).sqrt() * weight; }
  at::Tensor weight;
};

TEST(RMSNorm, ClippedSumAndNormsEqualAutogradOneByOne) {
  DrawnInput pick;
  for (int i = 0; i < 8; ++i) {
    torch::manual_seed(i);
    const std::int64_t rows = i < 2 ? i : pick(2, 9), in = pick(2, 8), width = pick(2, 9), positions = pick(1, 5);
    expect_agreement(torch::nn::Sequential(nn::Linear(in, width), nn::RMSNorm(std::vector{width}), nn::Linear(width, 3)),
                     torch::nn::Sequential(torch::nn::Linear(in, width), ReferenceRmsNorm(width), torch::nn::Linear(width, 3)),
                     i % 2 ? torch::randn({rows, in}) : torch::randn({rows, positions, in}));
  }
}

TEST(NormLayers, RowsCannotBeNormalisedAcross) {
  EXPECT_THROW(nn::LayerNorm(std::vector<std::int64_t>{3, 4})->forward(torch::ones({3, 4})), InputError);
  EXPECT_THROW(nn::RMSNorm(std::vector<std::int64_t>{3, 4})->forward(torch::ones({3, 4})), InputError);
  EXPECT_THROW(nn::GroupNorm(2, 3), InputError);
}

}  // namespace
}  // namespace fodp
