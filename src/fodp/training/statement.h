// The privacy statement of a run in plain words: what is protected, how well, and what has to be true for it.
#pragma once

#include <optional>
#include <string>

#include "fodp/training/guarantee.h"
#include "fodp/training/plan.h"

namespace fodp {

// What is guaranteed, and what identifies the run where that is known.
struct StatementFacts {
  Events events;
  double epsilon = 0, epsilon_ideal = 0;
  std::optional<double> epsilon_if_stop_was_fixed = {};  // of a run that was left before the end of its plan
  bool beyond_plan = false;                              // more was released than planned
  std::vector<std::string> warnings = {};                // of the run, besides those of its plan
  std::string date = {}, model_sha256 = {};
};
StatementFacts facts_of(const Plan& plan, const Guarantee& guarantee);

std::string privacy_statement(const Plan& plan, const StatementFacts& facts);
std::string privacy_statement(const Plan& plan);  // of the whole plan

// What a person with several rows has instead of epsilon, as an upper bound: {2, epsilon of 2 rows}, {5, epsilon of 5 rows}.
std::vector<std::pair<std::int64_t, double>> group_epsilons(const Plan& plan, const Events& guaranteed);

// The versions of what a run is computed with: {"fodp", "0.1.0"}, {"commit", ...}, {"libtorch", ...}.
std::vector<std::pair<std::string, std::string>> versions();

}  // namespace fodp
