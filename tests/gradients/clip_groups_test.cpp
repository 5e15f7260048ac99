// Clipping layer by layer, against gradients written out by hand (methods/plain).
#include <cmath>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/nll_loss.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>

#include "clipping.h"
#include "fodp/base/check.h"
#include "fodp/gradients/clip.h"
#include "fodp/gradients/linear.h"
#include "known_sum.h"
#include "methods/plain/release.h"

namespace fodp {
namespace {

using namespace fodp::testing;
using plain::Vector;

constexpr double kGrid = 0x1p-13;  // of a clip norm 1, times the root of the number of parameters: at most this

double norm(const Vector& v, std::int64_t begin, std::int64_t end) {
  double squared = 0;
  for (std::int64_t i = begin; i < end; ++i) squared += v[i] * v[i];
  return std::sqrt(squared);
}

// Three layers, 6-9-7-4, with the same numbers on the plain side.
class Net {
 public:
  explicit Net(const ClipSettings& options, double scale = 1)
      : problem_(plain::small_problem(40, {6, 9, 7, 4}, 3)),
        theta_(plain::small_start(problem_.net, 4)),
        net_(nn::Linear(6, 9), torch::nn::Tanh(), nn::Linear(9, 7), torch::nn::Tanh(), nn::Linear(7, 4)),
        parameters_(*net_),
        clipper_(
            *net_, parameters_,
            [this](const at::Tensor& x, const at::Tensor& y) {
              return at::nll_loss(net_->forward(x).log_softmax(1), y, {}, at::Reduction::None);
            },
            options, 16) {
    for (std::size_t i = 0; i < theta_.size(); ++i) parameters_.values()[i] = static_cast<float>(theta_[i]);
    for (Vector& x : problem_.inputs)
      for (double& value : x) value = static_cast<float>(value * scale);
  }

  ClippedSum sum(const std::vector<std::int64_t>& rows, const ClipRequest& request = {}) const {
    Blocks blocks;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % 16 == 0) blocks.emplace_back();
      blocks.back().push_back(rows[i]);
    }
    return clipper_.clipped_sum(
        blocks, 1, [this](std::span<const std::int64_t> chosen) { return gather(chosen); }, request);
  }
  ClippedSum norm_total(const std::vector<std::int64_t>& rows) const {
    return clipper_.norm_total(
        {rows}, 1, [this](std::span<const std::int64_t> chosen) { return gather(chosen); }, 0);
  }
  Vector opened_sum(const std::vector<std::int64_t>& rows) const {
    const auto values = opened(sum(rows));
    return {values.begin(), values.end()};
  }

  Vector gradient(std::int64_t row) const { return problem_.net.gradient(theta_, problem_.inputs[row], problem_.labels[row]); }
  const plain::Mlp& plain_net() const { return problem_.net; }
  const std::vector<LayerGroup>& layers() const { return parameters_.layers(); }

 private:
  Batch gather(std::span<const std::int64_t> chosen) const {
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (std::int64_t row : chosen) {
      x.insert(x.end(), problem_.inputs[row].begin(), problem_.inputs[row].end());
      y.push_back(problem_.labels[row]);
    }
    const auto rows = static_cast<std::int64_t>(chosen.size());
    return {at::from_blob(x.data(), {rows, 6}, at::kFloat).clone(), at::from_blob(y.data(), {rows}, at::kLong).clone()};
  }

  plain::Problem problem_;
  Vector theta_;
  torch::nn::Sequential net_;
  FlatParameters parameters_;
  TestClipper clipper_;
};

std::vector<std::int64_t> first_rows(std::int64_t count) {
  std::vector<std::int64_t> rows(count);
  for (std::int64_t i = 0; i < count; ++i) rows[i] = i;
  return rows;
}

plain::Stages plain_stages(GroupClip grouping, std::string_view rule) {
  plain::Stages stages;
  stages.group_clip = grouping == GroupClip::whole    ? plain::GroupClip::whole
                      : grouping == GroupClip::shared ? plain::GroupClip::shared
                                                      : plain::GroupClip::each;
  stages.clipping = rule == "automatic" ? plain::Clipping::automatic : plain::Clipping::flat;
  return stages;
}

TEST(ClipGroups, SumAndCountAgreeWithThePlainForm) {
  for (GroupClip grouping : {GroupClip::whole, GroupClip::shared, GroupClip::each})
    for (const char* rule : {"flat", "automatic"})
      for (double clip_norm : {.2, .8, 5.}) {
        const Net net({.clip_norm = clip_norm, .clipping = rule, .group_clip = grouping});
        std::vector<Vector> gradients;
        for (std::int64_t row = 0; row < 40; ++row) gradients.push_back(net.gradient(row));
        plain::Clipper plain({.clip_norm = clip_norm}, plain_stages(grouping, rule), net.plain_net());
        const Vector expected = plain.sum(gradients, net.plain_net().parameters(), 40);
        const Release actual = opened_release(net.sum(first_rows(40), {.count_noise = 1}));
        double squared = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) squared += std::pow(actual.values()[i] - expected[i], 2);
        EXPECT_LT(std::sqrt(squared), 3 * kGrid * clip_norm) << enum_name(grouping) << ", " << clip_norm;
        EXPECT_NEAR(actual.scalar("count"), 40 * (plain.unclipped() - .5), 40 * 0x1p-20) << enum_name(grouping) << ", " << clip_norm;
      }
}

TEST(ClipGroups, NoLayerOfARowIsLongerThanItsShare) {
  for (GroupClip grouping : {GroupClip::shared, GroupClip::each}) {
    const double bound = grouping == GroupClip::shared ? .02 / std::sqrt(3.) : .02;
    const Net net({.clip_norm = .02, .group_clip = grouping}, 10);
    for (std::int64_t row = 0; row < 20; ++row) {
      const Vector sum = net.opened_sum({row});
      ASSERT_EQ(net.layers().size(), 3u);
      for (const LayerGroup& layer : net.layers()) {
        EXPECT_LE(norm(sum, layer.begin, layer.end), bound + kGrid * .02);
        if (norm(net.gradient(row), layer.begin, layer.end) > bound) {
          EXPECT_GT(norm(sum, layer.begin, layer.end), .98 * bound);
        }
      }
    }
  }
}

TEST(ClipGroups, TheSumCarriesItsSensitivity) {
  const auto sensitivity = [](GroupClip grouping) { return Net({.clip_norm = 2, .group_clip = grouping}).sum({0}).sensitivity(); };
  EXPECT_EQ(sensitivity(GroupClip::whole), 2);
  EXPECT_NEAR(sensitivity(GroupClip::shared), 2, 1e-12);
  EXPECT_NEAR(sensitivity(GroupClip::each), 2 * std::sqrt(3.), 1e-12);
}

// A charge is made before there is a sum, for the clipper's slack: to the last bit it must be that of the sum.
TEST(ClipGroups, EverySumHasTheSlackThatTheClipperAnnounced) {
  for (int layers = 1; layers <= 60; ++layers) {
    torch::nn::Sequential net;
    for (int i = 0; i < layers; ++i) net->push_back(nn::Linear(3, 3));
    FlatParameters flat(*net);
    for (GroupClip grouping : {GroupClip::whole, GroupClip::shared, GroupClip::each})
      for (double clip_norm : {1., .1, .7, 3.}) {
        const ClipSettings options{.clip_norm = clip_norm, .group_clip = grouping};
        const testing::TestClipper clipper(
            *net, flat, [&](const at::Tensor& x, const at::Tensor&) { return net->forward(x).sum(1); }, options, 128);
        const ClippedSum sum = clipper.clipped_sum({}, 1, [](std::span<const std::int64_t>) { return Batch{}; });
        EXPECT_EQ(sum.slack(), clipper.slack()) << layers << " layers, " << enum_name(grouping) << ", " << clip_norm;
      }
  }
}

TEST(ClipGroups, OneRecordMovesTheSumByAtMostTheSensitivity) {
  for (GroupClip grouping : {GroupClip::whole, GroupClip::shared, GroupClip::each})
    for (double clip_norm : {.01, .3}) {
      const Net net({.clip_norm = clip_norm, .group_clip = grouping}, 30);
      double most = 0;
      for (std::int64_t more = 1; more < 25; ++more) {
        const ClippedSum unopened = net.sum(first_rows(more + 1));
        const double bound = unopened.sensitivity() * (1 + unopened.slack());
        Vector moved = net.opened_sum(first_rows(more + 1)), before = net.opened_sum(first_rows(more));
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= before[i];
        const double length = norm(moved, 0, static_cast<std::int64_t>(moved.size()));
        EXPECT_LE(length, bound * (1 + 1e-5)) << enum_name(grouping);
        most = std::max(most, length / bound);
        for (const ClipGroup& group : unopened.groups())
          EXPECT_LE(norm(moved, group.begin, group.end), group.clip_norm + bound * unopened.slack() + 1e-5 * bound);
      }
      EXPECT_GT(most, .95) << enum_name(grouping) << ": the bound is reached";
    }
}

TEST(ClipGroups, ImportanceAndNormTotalAreOfWholeGradientsOnly) {
  const Net net({.clip_norm = 1, .group_clip = GroupClip::shared});
  const Importance importance{1, [](std::int64_t) { return 0.; }};
  EXPECT_THROW(net.sum({0}, {.importance = importance}), PrivacyError);
  EXPECT_THROW(net.norm_total({0}), PrivacyError);
  const Net whole({.clip_norm = 100});
  EXPECT_NEAR(opened_release(whole.norm_total({0})).scalar("norm_total"), norm(whole.gradient(0), 0, 165), 2e-4);
}

}  // namespace
}  // namespace fodp
