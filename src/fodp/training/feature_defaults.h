// What a training of a linear model on features of norm 1 takes where the user left it open: every row in every step, a few long steps with
// heavy-ball momentum, a small clip norm. Public constants; docs/features.md has the measurements. The learning rate follows in the plan
// (unit_norm_lr in stages.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/training/options.h"

namespace fodp {

// Fills them in, where the options ask for a linear model on features. `is_set` tells whether the user chose an option. Gives back what was
// filled in, as "clip-norm .06".
std::vector<std::string> fill_feature_defaults(TrainOptions& options, const std::function<bool(std::string_view option)>& is_set);

}  // namespace fodp
