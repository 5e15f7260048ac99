#include "fodp/features/whitening.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/diag.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

namespace fodp {
namespace {

constexpr std::int64_t kRows = 2048, kColumns = 128;  // of one product

// samples^T samples / count. Each piece is a product in float32, and pieces are added in float64, always in the same order.
at::Tensor second_moments(const at::Tensor& samples, const ParallelFor& parallel) {
  const std::int64_t rows = samples.size(0), channels = samples.size(1);
  at::Tensor out = at::zeros({channels, channels}, at::kDouble);
  parallel((channels + kColumns - 1) / kColumns, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t strip = first; strip < last; ++strip) {
      const std::int64_t from = strip * kColumns, width = std::min(kColumns, channels - from);
      at::Tensor sum = out.narrow(1, from, width);
      for (std::int64_t row = 0; row < rows; row += kRows) {
        const at::Tensor piece = samples.narrow(0, row, std::min(kRows, rows - row));
        sum.add_(at::mm(piece.t(), piece.narrow(1, from, width)));
      }
    }
  });
  return (out + out.t()) / (2 * static_cast<double>(rows));
}

at::Tensor inverse_root(const at::Tensor& variances, double scale, double damping) { return (variances / scale + damping).rsqrt(); }

// The largest entry of each column becomes positive: decompositions leave the sign open.
at::Tensor with_canonical_signs(const at::Tensor& vectors) {
  const at::Tensor largest = vectors.gather(0, vectors.abs().argmax(0, /*keepdim=*/true));
  return vectors * largest.sign();
}

at::Tensor indices(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }

}  // namespace

Moments moments_about_zero(const at::Tensor& samples, const ParallelFor& parallel) {
  return {at::zeros({samples.size(1)}, at::kDouble), second_moments(samples, parallel)};
}

Moments moments_of(const at::Tensor& samples, const ParallelFor& parallel) {
  at::Tensor mean = samples.mean(0, /*keepdim=*/false, at::kDouble);
  at::Tensor covariance = second_moments(samples, parallel) - at::outer(mean, mean);
  return {mean, covariance};
}

Moments mirrored(const Moments& moments, const std::vector<std::int64_t>& mirror) {
  const at::Tensor which = indices(mirror);
  return {(moments.mean + moments.mean.index_select(0, which)) / 2,
          (moments.covariance + moments.covariance.index_select(0, which).index_select(1, which)) / 2};
}

at::Tensor whitener(const at::Tensor& covariance, double damping) {
  const auto [values, vectors] = at::linalg_eigh(covariance);
  const at::Tensor scales = inverse_root(values.clamp_min(0), values.mean().item<double>(), damping);
  return at::mm(vectors * scales, vectors.t()).to(at::kFloat).contiguous();
}

// In the basis (e_i + e_j)/sqrt(2), (e_i - e_j)/sqrt(2) of each pair of mirror images i < j the covariance falls into an even part and an
// odd part.
Components mirror_components(const at::Tensor& covariance, const std::vector<std::int64_t>& mirror, std::int64_t count, double damping) {
  std::vector<std::int64_t> left, right;
  for (std::size_t i = 0; i < mirror.size(); ++i)
    if (mirror[i] > static_cast<std::int64_t>(i)) left.push_back(static_cast<std::int64_t>(i)), right.push_back(mirror[i]);
  const at::Tensor rows = covariance.index_select(0, indices(left));
  const at::Tensor same = rows.index_select(1, indices(left)), other = rows.index_select(1, indices(right));
  const auto pairs = static_cast<std::int64_t>(left.size());
  at::Tensor vectors = at::zeros({covariance.size(0), 2 * pairs}, at::kDouble);
  std::vector<at::Tensor> values;
  for (const int sign : {1, -1}) {
    const auto [own, basis] = at::linalg_eigh(sign > 0 ? same + other : same - other);
    values.push_back(own);
    at::Tensor half = vectors.narrow(1, sign > 0 ? 0 : pairs, pairs);
    half.index_copy_(0, indices(left), basis / std::sqrt(2.0));
    half.index_copy_(0, indices(right), sign * basis / std::sqrt(2.0));
  }
  const at::Tensor all = at::cat(values);
  const at::Tensor best = all.argsort(/*stable=*/true, 0, /*descending=*/true).narrow(0, 0, count);
  const at::Tensor scales = inverse_root(all.index_select(0, best).clamp_min(0), covariance.diag().mean().item<double>(), damping);
  Components out{(with_canonical_signs(vectors.index_select(1, best)) * scales).to(at::kFloat).contiguous(), {}};
  for (std::int64_t k = 0; k < count; ++k) out.signs.push_back(best[k].item<std::int64_t>() < pairs ? 1.0f : -1.0f);
  return out;
}

}  // namespace fodp
