#include "fodp/gradients/conv.h"

#include <sys/resource.h>

#include <random>

#include <ATen/Parallel.h>
#include <ATen/ops/im2col.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/utils.h>

#include "clipping.h"
#include "fodp/base/check.h"
#include "gradients/agreement.h"

namespace fodp {
namespace {

using testing::expect_equals_one_by_one;

template <class Ours, class Theirs>
void expect_agreement(const typename Ours::Impl& like, const at::Tensor& inputs) {
  // Behind another layer too, so that the gradient of the input counts.
  auto second = like.options;
  second.in_channels(like.options.out_channels()).out_channels(2 * like.options.groups());
  torch::nn::Sequential ours(Ours(like.options), torch::nn::Tanh(), Ours(second));
  torch::nn::Sequential theirs(Theirs(like.options), torch::nn::Tanh(), Theirs(second));
  expect_equals_one_by_one(
      *ours, [&](const at::Tensor& x) { return ours->forward(x); }, *theirs, [&](const at::Tensor& x) { return theirs->forward(x); },
      inputs, 3e-4);
}

TEST(Conv2d, ClippedSumAndNormsEqualAutogradOneByOne) {
  std::mt19937 engine(6);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  for (int i = 0; i < 20; ++i) {
    torch::manual_seed(i);
    const std::int64_t groups = pick(1, 3), rows = i < 2 ? i : pick(2, 9);
    torch::nn::Conv2dOptions options(groups * pick(1, 3), groups * pick(1, 4), {pick(1, 3), pick(1, 3)});
    options.stride({pick(1, 2), pick(1, 2)})
        .padding({pick(0, 2), pick(0, 2)})
        .dilation({pick(1, 2), pick(1, 2)})
        .groups(groups)
        .bias(i % 3 != 0);
    expect_agreement<nn::Conv2d, torch::nn::Conv2d>(nn::Conv2dImpl(options),
                                                    torch::randn({rows, options.in_channels(), pick(13, 16), pick(13, 16)}));
  }
}

TEST(Conv1d, ClippedSumAndNormsEqualAutogradOneByOne) {
  std::mt19937 engine(7);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  for (int i = 0; i < 20; ++i) {
    torch::manual_seed(i);
    const std::int64_t groups = pick(1, 3), rows = i < 2 ? i : pick(2, 9);
    torch::nn::Conv1dOptions options(groups * pick(1, 3), groups * pick(1, 4), pick(1, 4));
    options.stride(pick(1, 2)).padding(pick(0, 2)).dilation(pick(1, 2)).groups(groups).bias(i % 3 != 0);
    expect_agreement<nn::Conv1d, torch::nn::Conv1d>(nn::Conv1dImpl(options), torch::randn({rows, options.in_channels(), pick(20, 30)}));
  }
}

// Dilations and strides with and without a common factor.
TEST(Conv2d, DilatedKernelsEqualAutogradOneByOne) {
  torch::manual_seed(2);
  for (const std::int64_t stride : {1, 2, 3, 4})
    for (const std::int64_t dilation : {2, 3, 4}) {
      auto options = torch::nn::Conv2dOptions(4, 6, {2, 3}).stride({stride, 2}).dilation({dilation, 2}).padding({1, 2}).groups(2);
      expect_agreement<nn::Conv2d, torch::nn::Conv2d>(nn::Conv2dImpl(options), torch::randn({3, 4, 23, 15}));
    }
}

// The reach of a row (tape.h) is at least (sum|a|^2)(sum|b|^2) over the patches a that the kernel meets. The input is 1 where most patches
// meet and 0 elsewhere, which is the worst case.
TEST(Conv2d, TheReachCoversEveryPatchOfADilatedKernel) {
  for (const std::int64_t kernel : {2, 3, 5})
    for (const std::int64_t stride : {1, 2, 3, 4, 6})
      for (const std::int64_t dilation : {1, 2, 3, 4}) {
        nn::Conv2d conv(torch::nn::Conv2dOptions(60, 60, {kernel, 1}).stride({stride, 1}).dilation({dilation, 1}).bias(false));
        const at::Tensor places = torch::arange(dilation * (kernel - 1) + 1 + 6 * stride);
        const at::Tensor one = places.remainder(stride).eq(0).to(at::kFloat).view({1, 1, -1, 1}).expand({1, 60, -1, 1}).contiguous();
        Tape tape;
        const Tape::Recording recording(tape);
        const at::Tensor output = conv->forward(one);
        torch::autograd::grad({output}, {conv->weight}, {torch::ones_like(output)}, {}, false, /*allow_unused=*/true);
        std::vector<double> squared(1, 0.0), reach(1, 0.0);
        ASSERT_EQ(tape.records().size(), 1u);
        tape.records()[0]->add_squared_norms(squared, reach);
        const at::Tensor patches = at::im2col(one, {kernel, 1}, {dilation, 1}, {0, 0}, {stride, 1});
        const double all = patches.square().sum().item<double>() * static_cast<double>(output.numel());
        EXPECT_GE(reach[0], (1 - 1e-6) * all) << "kernel " << kernel << ", stride " << stride << ", dilation " << dilation;
        EXPECT_GE(reach[0], (1 - 1e-6) * squared[0]);
      }
}

// As Clipper.HugeInputsCannotExceedTheClipNormBySubnormalRounding, where the sum is made from the factors.
TEST(Conv2d, HugeInputsContributeZero) {
  nn::Conv2d conv(torch::nn::Conv2dOptions(60, 60, 3).bias(false));
  FlatParameters flat(*conv);
  const testing::TestClipper clipper(
      *conv, flat, [&](const at::Tensor& x, const at::Tensor&) { return conv->forward(x).flatten(1).select(1, 0) * 0x1p-60; },
      {.clip_norm = .5006 * 0x1p-149 * 2e38}, 128);
  at::Tensor input = torch::zeros({1, 60, 5, 5});
  input[0][0][0][0] = 2e38;
  for (const float value : testing::opened(clipper.clipped_sum({{0}}, 1, [&](std::span<const std::int64_t>) {
         return Batch{input, at::Tensor()};
       })))
    ASSERT_EQ(value, 0);
}

TEST(Conv2d, PaddingModesAreTorchs) {
  torch::manual_seed(1);
  for (int mode = 0; mode < 5; ++mode) {
    auto options = torch::nn::Conv2dOptions(2, 3, {3, 2}).padding({1, 1});
    if (mode == 0) options.padding(torch::kSame);
    if (mode == 1) options.padding(torch::kValid);
    if (mode == 2) options.padding_mode(torch::kReflect);
    if (mode == 3) options.padding_mode(torch::kReplicate);
    if (mode == 4) options.padding_mode(torch::kCircular);
    expect_agreement<nn::Conv2d, torch::nn::Conv2d>(nn::Conv2dImpl(options), torch::randn({3, 2, 8, 7}));
  }
}

// Deep layers of small images take the ghost norm.
TEST(Conv2d, ManyChannelsAndFewPlaces) {
  torch::manual_seed(1);
  const auto options = torch::nn::Conv2dOptions(30, 40, 3).padding(1);
  expect_agreement<nn::Conv2d, torch::nn::Conv2d>(nn::Conv2dImpl(options), torch::randn({4, 30, 3, 3}));
}

TEST(Conv2d, AConstantImageHasAFiniteNorm) {
  torch::manual_seed(1);
  const auto options = torch::nn::Conv2dOptions(3, 8, 3);
  expect_agreement<nn::Conv2d, torch::nn::Conv2d>(nn::Conv2dImpl(options), torch::full({2, 3, 16, 16}, 2.5));
}

// oneDNN's weight gradients are wrong inside of an OpenMP team, which workers are none (gradients/workers.h).
TEST(Conv2d, BlocksSideBySideGiveTheSameBitsAsOneAfterTheOther) {
  torch::manual_seed(2);
  torch::nn::Sequential model(nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 8).stride(2).padding(3)), torch::nn::Tanh(),
                              nn::Conv2d(torch::nn::Conv2dOptions(16, 8, 4).stride(2)));
  FlatParameters flat(*model);
  const testing::TestClipper clipper(
      *model, flat,
      [&](const at::Tensor& x, const at::Tensor&) {
        return model->forward(x).square().sum(at::IntArrayRef({1, 2, 3}));
      },
      {}, 128);
  const at::Tensor images = torch::randn({96, 1, 28, 28});
  Blocks blocks(6);
  for (std::int64_t i = 0; i < 96; ++i) blocks[i / 16].push_back(i);
  const auto sum = [&](int threads) {
    at::set_num_threads(threads);
    return testing::opened(clipper.clipped_sum(blocks, 1, [&](std::span<const std::int64_t> rows) {
      return Batch{images.slice(0, rows.front(), rows.back() + 1), at::Tensor()};
    }));
  };
  const int before = at::get_num_threads();
  const auto alone = sum(1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sum(2), alone);
  at::set_num_threads(before);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// 2,048 rows with 590,112 parameters each would take 4.8 GB.
TEST(Conv2d, PeakMemoryDoesNotGrowWithRowsTimesParameters) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer keeps freed memory";
#endif
  torch::manual_seed(2);
  torch::nn::Sequential model(nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3)), torch::nn::Tanh(),
                              nn::Conv2d(torch::nn::Conv2dOptions(64, 992, 3)));
  FlatParameters flat(*model);
  const testing::TestClipper clipper(
      *model, flat,
      [&](const at::Tensor& x, const at::Tensor&) {
        return model->forward(x).square().sum(at::IntArrayRef({1, 2, 3}));
      },
      {}, 128);
  const at::Tensor images = torch::randn({128, 32, 6, 6});
  const auto run = [&](std::int64_t rows) {
    Blocks blocks(rows / 128);
    for (std::int64_t i = 0; i < rows; ++i) blocks[i / 128].push_back(i);
    clipper.clipped_sum(blocks, 1, [&](std::span<const std::int64_t> chosen) {
      return Batch{images.slice(0, 0, static_cast<std::int64_t>(chosen.size())), at::Tensor()};
    });
  };
  run(256);
  const double before = peak_megabytes();
  run(2048);
  EXPECT_LT(peak_megabytes() - before, 100);
  EXPECT_LT(peak_megabytes(), 1500);
}

TEST(Conv2d, StartsWithPyTorchsValues) {
  torch::manual_seed(11);
  nn::Conv2d ours(3, 5, 4);
  torch::manual_seed(11);
  torch::nn::Conv2d theirs(3, 5, 4);
  EXPECT_TRUE(ours->weight.equal(theirs->weight));
  EXPECT_TRUE(ours->bias.equal(theirs->bias));
}

TEST(Conv2d, BadShapesAreRefused) {
  EXPECT_THROW(nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 2).groups(2)), InputError);
  EXPECT_THROW(nn::Conv2d(3, 4, 2)->forward(torch::ones({3, 8, 8})), InputError);
  EXPECT_THROW(nn::Conv2d(3, 4, 2)->forward(torch::ones({1, 4, 8, 8})), InputError);
}

TEST(Conv2d, CloneIsIndependent) {
  nn::Conv2d layer(1, 2, 3);
  auto copy = std::dynamic_pointer_cast<nn::Conv2dImpl>(layer->clone());
  ASSERT_TRUE(copy);
  copy->weight.data().fill_(9);
  EXPECT_NE(layer->weight.max().item<float>(), 9);
}

}  // namespace
}  // namespace fodp
