#include "fodp/mechanism/gaussian.h"

#include "fodp/base/wide_loops.h"
#include "fodp/mechanism/release_table.h"

namespace fodp {

void GaussianMechanism::block(const Block& block, std::span<float> released) { round_to_float(block.values, released); }

extern const ReleaseEntry kGaussianRelease = {
    .name = "gaussian",
    .summary = "the noisy sum",
    .make = [](const RunContext& context) -> std::unique_ptr<Mechanism> {
      return std::make_unique<GaussianMechanism>(noise_schedule(context));
    },
};

}  // namespace fodp
