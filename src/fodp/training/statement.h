// The privacy statement of a run in plain words: what is protected, how well, and what has to be true for it.
#pragma once

#include <optional>
#include <string>

#include "fodp/training/plan.h"

namespace fodp {

// What was spent, and what identifies the run where that is known.
struct StatementFacts {
  Events events;
  double epsilon = 0, epsilon_ideal = 0;
  std::int64_t steps = -1;  // that were taken; all of the plan's if negative
  std::string date = {}, data_fingerprint = {}, model_sha256 = {};
};

std::string privacy_statement(const Plan& plan, const StatementFacts& facts);
std::string privacy_statement(const Plan& plan);  // of the whole plan

// The versions of what a run is computed with: {"fodp", "0.1.0"}, {"commit", ...}, {"libtorch", ...}.
std::vector<std::pair<std::string, std::string>> versions();

}  // namespace fodp
