// A model of fodp layers against the same model of torch's, in double, one example at a time: clipped sums and norms.
#pragma once

#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "clipping.h"
#include "fodp/gradients/clip.h"
#include "gradients/one_by_one.h"
#include "known_sum.h"

namespace fodp::testing {

using Forward = std::function<at::Tensor(const at::Tensor&)>;

// `theirs` gets the values of `ours` and becomes double. A row's loss is the sum of the squares of its outputs, weighted by position so
// that no symmetry hides an error. `inputs` is [rows, ...]; floats go in as double on their side.
inline void expect_equals_one_by_one(torch::nn::Module& ours, const Forward& our_forward, torch::nn::Module& theirs,
                                     const Forward& their_forward, const at::Tensor& inputs, double tolerance = 1e-4) {
  theirs.to(at::kDouble);
  {
    const at::NoGradGuard guard;
    const auto named = ours.named_parameters();
    ASSERT_EQ(named.size(), theirs.named_parameters().size());
    for (auto& item : theirs.named_parameters()) {
      ASSERT_TRUE(named.contains(item.key())) << item.key();
      item.value().copy_(named[item.key()]);
      item.value().requires_grad_(named[item.key()].requires_grad());
    }
  }
  const std::int64_t rows = inputs.size(0);
  const at::Tensor exact = inputs.is_floating_point() ? inputs.to(at::kDouble) : inputs;
  const auto loss = [](const at::Tensor& outputs) {
    const at::Tensor flat = outputs.reshape({outputs.size(0), -1});
    return (flat.square() * at::linspace(.5, 1.5, flat.size(1), flat.options().requires_grad(false))).sum(1);
  };
  const auto gradients =
      gradients_one_by_one(theirs, rows, [&](std::int64_t row) { return loss(their_forward(exact.slice(0, row, row + 1))).sum(); });

  FlatParameters flat(ours);
  if (rows > 0) {
    const at::NoGradGuard guard;
    const at::Tensor difference = our_forward(inputs).to(at::kDouble) - their_forward(exact);
    EXPECT_LT(difference.abs().max().item<double>(), 1e-4) << "outputs";
  }
  double largest = 0;
  for (const auto& gradient : gradients) largest = std::max(largest, norm(gradient));
  for (const ClipSettings& options : {ClipSettings{.clip_norm = std::max(.5 * largest, 1e-3)}, ClipSettings{.clip_norm = 2 * largest + 1},
                                      ClipSettings{.clip_norm = .5, .clipping = "automatic"}}) {
    const TestClipper clipper(
        ours, flat, [&](const at::Tensor& x, const at::Tensor&) { return loss(our_forward(x)); }, options, 128);
    Blocks blocks(1);
    for (std::int64_t i = 0; i < rows; ++i) blocks[0].push_back(i);
    const auto actual = opened(clipper.clipped_sum(blocks, 1, [&](std::span<const std::int64_t> chosen) {
      return Batch{inputs.slice(0, 0, std::ssize(chosen)), at::Tensor()};
    }));
    std::vector<double> expected(flat.size(), 0.0);
    for (const auto& gradient : gradients)
      for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += gradient[k] * clip_factor(norm(gradient), options);
    double difference = 0;
    for (std::size_t k = 0; k < expected.size(); ++k) difference += std::pow(actual[k] - expected[k], 2);
    EXPECT_LT(std::sqrt(difference), (tolerance + 2e-4) * options.clip_norm * std::max<double>(1, rows)) << rows << " rows, sum";
    EXPECT_LT(std::sqrt(difference), tolerance * norm(expected) + 3e-4 * options.clip_norm) << rows << " rows, sum";
  }
  if (rows == 0) return;
  const TestClipper clipper(
      ours, flat, [&](const at::Tensor& x, const at::Tensor&) { return loss(our_forward(x)); }, {}, 128);
  const auto seen = clipper.insecure_rows({inputs, at::Tensor()});
  for (std::int64_t i = 0; i < rows; ++i)
    EXPECT_NEAR(std::sqrt(seen.squared_norms[i]), norm(gradients[i]), tolerance * norm(gradients[i]) + 1e-6) << "norm of row " << i;
}

}  // namespace fodp::testing
