#include "fodp/mechanism/gaussian.h"

#include "fodp/mechanism/release_table.h"

namespace fodp {

void GaussianMechanism::block(const Block& block, std::span<float> released) {
  for (std::size_t i = 0; i < released.size(); ++i) released[i] = static_cast<float>(block.values[i]);
}

extern const ReleaseEntry kGaussianRelease = {
    .name = "gaussian",
    .summary = "the noisy sum",
    .make = [](const RunContext& context) -> std::unique_ptr<Mechanism> {
      return std::make_unique<GaussianMechanism>(noise_schedule(context));
    },
};

}  // namespace fodp
