// Which mechanism releases, and its options: one choice for any method (docs/methods.md).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/gradients/parameters.h"
#include "fodp/mechanism/banded.h"
#include "fodp/mechanism/kernel.h"
#include "fodp/mechanism/mechanism.h"
#include "fodp/mechanism/spectral.h"

namespace fodp {

enum class ReleaseKind { gaussian, fractional, spectral, banded };

template <>
struct EnumNames<ReleaseKind> {
  static constexpr std::pair<std::string_view, ReleaseKind> values[] = {{"gaussian", ReleaseKind::gaussian},
                                                                        {"fractional", ReleaseKind::fractional},
                                                                        {"spectral", ReleaseKind::spectral},
                                                                        {"banded", ReleaseKind::banded}};
};

// What a mechanism is made from: public constants of the run.
struct ReleaseContext {
  ReleaseKind kind = ReleaseKind::gaussian;
  Schedule noise_multiplier = 0;  // sigma
  Schedule sample_rate = 1;
  std::int64_t steps = 1;
  double sensitivity = 1;  // of a sum over C
  double clip_norm = 1;
  FractionalOptions memory;
  SpectralOptions spectral;
  BandOptions bands;
  std::vector<LayerGroup> layers;
  bool needs_noise_variance = false;

  NoiseSchedule schedule() const;
  std::int64_t cycle() const { return kind == ReleaseKind::banded ? bands.count() : 1; }
};

std::unique_ptr<Mechanism> make_mechanism(const ReleaseContext& context);

}  // namespace fodp
