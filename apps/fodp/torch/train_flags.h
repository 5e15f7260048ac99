// The options of a training on the command line, for every command that takes them.
#pragma once

#include <string>

#include "flags.h"
#include "fodp/training/options.h"

namespace fodp::app {

struct TrainFlags {
  TrainFlags(std::string command, std::string about, std::string example);

  TrainOptions options;
  Flags flags;
};

}  // namespace fodp::app
