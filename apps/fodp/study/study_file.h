// Reads a study from its TOML file (docs/studies.md).
#pragma once

#include <filesystem>

#include "study/study.h"

namespace fodp::app {

// InputError, naming the file, the line and the key, for anything that is not a study: unknown keys, empty axes, seeds or labels that
// repeat, tables and figures of axes or quantities that there are not. Whether options exist is checked where runs are planned.
// With `quick`, the section [quick] is applied: fewer seeds, fewer epochs.
Study read_study(const std::filesystem::path& file, bool quick = false);

}  // namespace fodp::app
