// The options of a training on the command line, for every command that takes them.
#pragma once

#include <string>

#include "flags.h"
#include "fodp/training/options.h"

namespace fodp::app {

struct TrainFlags {
  TrainFlags(std::string command, std::string about, std::string example);

  // Leaves out of the help what is for kinds of data that these words do not ask for.
  void show_options_of(const std::vector<std::string>& words);

  // What a linear model on features takes where the words leave it open (training/feature_defaults.h).
  void fill_feature_defaults(bool tell = true);

  TrainOptions options;
  Flags flags;
};

}  // namespace fodp::app
