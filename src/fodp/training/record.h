// What a run leaves behind: JSON for scripts, a run directory, and a privacy statement in plain words.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "fodp/training/trainer.h"

namespace fodp {

// The fields of summary.json and --json; without a result those of --dry-run.
nlohmann::ordered_json summary_json(const Plan& plan, const Result* result);
nlohmann::ordered_json evaluation_json(const Evaluation& evaluation);

// What is protected, how well, and what has to be true for it.
std::string privacy_statement(const Plan& plan, const Events& events, double epsilon, double ideal_epsilon);
std::string privacy_statement(const Plan& plan, const Result* result);  // of the plan where there is no result

// config.json, metrics.jsonl, summary.json, model.pt. Each file is whole or absent; metrics.jsonl grows by whole lines.
class RunDirectory {
 public:
  // Makes the directory. InputError if it holds a run already: nothing is overwritten.
  RunDirectory(const std::filesystem::path& directory, const Plan& plan);

  void add(const Evaluation& evaluation);
  void finish(const Plan& plan, const Result& result, const StateDict& parameters);

 private:
  std::filesystem::path directory_;
  std::vector<std::string> insecure_;  // stands in every line
  Averaging averaging_;                // likewise, where there is one
  std::ofstream metrics_;
};

// Throws what RunDirectory or a save to `file` would, before a long run rather than after it.
void check_can_make_run(const std::filesystem::path& directory);
void check_can_write(const std::filesystem::path& file);

}  // namespace fodp
