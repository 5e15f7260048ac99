// How features are computed for a command: on all threads, with a line on standard error that tells how long it still takes.
#pragma once

#include "fodp/features/feature_data.h"

namespace fodp::app {

FeatureWork feature_work(bool quiet, std::optional<std::int64_t> threads);

}  // namespace fodp::app
