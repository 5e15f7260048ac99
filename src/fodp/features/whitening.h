// Means, covariances and what decorrelates: in float64, so that machines whose float32 products round differently agree.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/base/parallel.h"

namespace fodp {

struct Moments {
  at::Tensor mean;        // float64 [channels]
  at::Tensor covariance;  // float64 [channels, channels]
};

// Of samples, float32 [samples, channels]. The result does not depend on how the work is spread.
Moments moments_of(const at::Tensor& samples, const ParallelFor& parallel);
// The same about zero: the mean is 0 and the covariance is that of samples whose mean is known to be 0.
Moments moments_about_zero(const at::Tensor& samples, const ParallelFor& parallel);

// Moments of samples and their mirror images together, where mirroring moves channel i to channel mirror[i].
Moments mirrored(const Moments& moments, const std::vector<std::int64_t>& mirror);

// V (e/mean(e) + damping)^(-1/2) V^T, float32, of a covariance V diag(e) V^T: symmetric, and so the same whatever signs V comes with.
at::Tensor whitener(const at::Tensor& covariance, double damping);

// The leading components of a covariance that is its own mirror image, each divided by the root of its variance (relative to the mean
// variance of a channel, plus the damping). Each component is even or odd: mirroring an image multiplies it by its sign.
struct Components {
  at::Tensor matrix;         // float32 [channels, components]
  std::vector<float> signs;  // 1 or -1
};
Components mirror_components(const at::Tensor& covariance, const std::vector<std::int64_t>& mirror, std::int64_t count, double damping);

}  // namespace fodp
