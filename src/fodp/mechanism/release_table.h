// The stage "release": which mechanism turns a clipped sum into a release. Any method takes any of them (docs/methods.md).
#pragma once

#include "fodp/mechanism/mechanism.h"
#include "fodp/stages/stage.h"

namespace fodp {

struct ReleaseTraits {
  bool noise_is_known = true;  // Release::noise_variance has a value
  bool by_layer = false;       // layers are clipped one by one unless asked otherwise
};

using ReleaseEntry = StageEntry<Mechanism, ReleaseTraits>;

Table<ReleaseEntry> release_table();

}  // namespace fodp
