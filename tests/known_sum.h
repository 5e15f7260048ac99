// A model whose per-example gradient is the example itself: loss_i = <w, x_i>. It gives tests a ClippedSum of rows they choose.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "clipping.h"
#include "fodp/accounting/ledger.h"
#include "fodp/gradients/clip.h"
#include "fodp/gradients/linear.h"
#include "fodp/mechanism/gaussian.h"

namespace fodp::testing {

using GivenRows = std::vector<std::vector<float>>;

class KnownSum {
 public:
  explicit KnownSum(std::int64_t size, ClipSettings options = {}, std::int64_t block_rows = 128)
      : size_(size),
        layer_(torch::nn::LinearOptions(size, 1).bias(false)),
        parameters_(*layer_),
        clipper_(
            *layer_, parameters_, [this](const at::Tensor& x, const at::Tensor&) { return layer_->forward(x).squeeze(1); }, options,
            block_rows),
        block_rows_(block_rows) {}

  ClippedSum of(const GivenRows& rows, const TestDraw& draw = {}, const ClipRequest& request = {}) const {
    return clipper_.clipped_sum(blocks(rows), draw, gather(rows), request);
  }
  ClippedSum norm_total(const GivenRows& rows, const TestDraw& draw, double noise_multiplier) const {
    return clipper_.norm_total(blocks(rows), draw, gather(rows), noise_multiplier);
  }
  ClippedSum loss_change(const GivenRows& rows, const TestDraw& draw, std::span<const float> before, double lot, double bound,
                         double noise_multiplier) const {
    return clipper_.loss_change(blocks(rows), draw, gather(rows), before, lot, bound, noise_multiplier);
  }

  FlatParameters& parameters() { return parameters_; }

 private:
  Blocks blocks(const GivenRows& rows) const {
    Blocks all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % block_rows_ == 0) all.emplace_back();
      all.back().push_back(static_cast<std::int64_t>(i));
    }
    return all;
  }
  Gather gather(const GivenRows& rows) const {
    return [&rows, size = size_](std::span<const std::int64_t> chosen) {
      at::Tensor inputs = at::empty({static_cast<std::int64_t>(chosen.size()), size});
      for (std::size_t i = 0; i < chosen.size(); ++i)
        std::copy(rows[chosen[i]].begin(), rows[chosen[i]].end(), inputs.data_ptr<float>() + static_cast<std::int64_t>(i) * size);
      return Batch{inputs, at::Tensor()};
    };
  }

  std::int64_t size_;
  nn::Linear layer_;
  FlatParameters parameters_;
  TestClipper clipper_;
  std::size_t block_rows_;
};

// Opens a sum as anybody could: a release without noise, charged as such.
inline Release opened_release(ClippedSum sum) {
  GaussianMechanism open(0);
  Ledger ledger;
  const RunKey key = RunKey::from_insecure_seed(0);
  const RandomStream stream(key, Purpose::noise);
  Charge charge = ledger.charge(open.event(sum));
  return open.release(std::move(sum), std::move(charge), stream);
}

inline std::vector<float> opened(ClippedSum sum) {
  const Release release = opened_release(std::move(sum));
  return {release.values().begin(), release.values().end()};
}

// Repeatable rows of normal numbers.
inline GivenRows random_rows(std::int64_t count, std::int64_t size, std::uint64_t seed, double scale = 1) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, scale);
  GivenRows rows(count, std::vector<float>(size));
  for (auto& row : rows)
    for (float& value : row) value = static_cast<float>(normal(engine));
  return rows;
}

}  // namespace fodp::testing
