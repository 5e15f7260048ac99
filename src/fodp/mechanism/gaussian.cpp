#include "fodp/mechanism/gaussian.h"

#include <ATen/Parallel.h>

namespace fodp {

void GaussianMechanism::transform(const NoisedSum& noised, std::span<float> released) {
  at::parallel_for(0, NoisedSum::blocks(noised.size()), 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> values;
    for (std::int64_t b = first; b < last; ++b) {
      const std::int64_t begin = noised.block(b, values);
      for (std::size_t i = 0; i < values.size(); ++i) released[begin + i] = static_cast<float>(values[i]);
    }
  });
}

}  // namespace fodp
