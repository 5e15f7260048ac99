#include "fodp/mechanism/release_options.h"

#include <cmath>

#include "fodp/mechanism/fractional.h"
#include "fodp/mechanism/gaussian.h"

namespace fodp {

NoiseSchedule ReleaseContext::schedule() const {
  const bool remembers = kind == ReleaseKind::fractional || kind == ReleaseKind::spectral;
  return {.noise_multiplier = noise_multiplier,
          .beta = remembers ? memory.beta_schedule() : 1,
          .steps = steps,
          .sample_rate = sample_rate,
          .sensitivity = sensitivity};
}

std::unique_ptr<Mechanism> make_mechanism(const ReleaseContext& context) {
  switch (context.kind) {
    case ReleaseKind::gaussian:
      break;
    case ReleaseKind::fractional: {
      const double size = context.layers.empty() ? 1 : static_cast<double>(context.layers.back().end);
      const double noise_norm = context.noise_multiplier.first() * context.clip_norm * std::sqrt(size);
      auto mechanism = std::make_unique<FractionalMechanism>(context.schedule(), resolve(context.memory, context.clip_norm, noise_norm));
      if (context.needs_noise_variance) mechanism->keep_noise_variance();
      return mechanism;
    }
    case ReleaseKind::spectral:
      return std::make_unique<SpectralMechanism>(context.schedule(), context.memory, context.spectral, context.layers);
    case ReleaseKind::banded:
      return std::make_unique<BandedMechanism>(context.schedule(), context.bands.count());
  }
  return std::make_unique<GaussianMechanism>(context.schedule());
}

}  // namespace fodp
