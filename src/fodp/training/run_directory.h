// What a run leaves behind: JSON for scripts, and a run directory.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "fodp/base/line_file.h"
#include "fodp/training/trainer.h"

namespace fodp {

// What identifies a run, besides its plan and result.
struct RunIdentity {
  std::string date;                               // UTC, as 2026-01-31T12:00:00Z
  std::string data_fingerprint;                   // of the training files; empty where there are none
  std::string model_sha256;                       // of model.pt; empty before it is written
  std::map<std::string, std::string> files = {};  // of the other files of the run directory, their SHA-256 by name
};
RunIdentity identity_now(std::string data_fingerprint);

// The options of a plan as resolved. `derived` lists those that followed from others, so that --config can repeat the run.
nlohmann::ordered_json config_json(const Plan& plan);

// The fields of summary.json and --json; without a result those of --dry-run.
nlohmann::ordered_json summary_json(const Plan& plan, const Result* result, const Objective& objective, const RunIdentity& identity);
nlohmann::ordered_json evaluation_json(const Plan& plan, const Evaluation& evaluation, const Objective& objective);

// What somebody needs to use the model elsewhere: how inputs are normalised, their shape, the classes, what it cost
// (accounting/spending_json.h). Model files that are saved with the text of this under kModelKey (model_file.h) tell their cost to whoever
// starts from them.
nlohmann::ordered_json model_json(const Plan& plan, const Result& result, const DataDescription& about);

std::string privacy_statement(const Plan& plan, const Result& result, const RunIdentity& identity);

// config.json, which also has the folder that names of files in it are relative to (started_in), metrics.jsonl, summary.json,
// statement.txt, model.json, model.pt, ledger, checkpoint. Each file is whole or absent; metrics.jsonl and the ledger grow by whole lines.
class RunDirectory {
 public:
  // Makes the directory, for its user alone (mode 0700); one that is there already keeps its permissions. InputError if it holds a run
  // already: nothing is overwritten, and no link in it is followed.
  RunDirectory(const std::filesystem::path& directory, Trainer& trainer, const std::string& data_fingerprint = {});
  // The directory of a run that was interrupted, to go on with: the trainer has the same plan and data, and takes its last checkpoint.
  // BudgetError if the run has come to its end or its budget is spent; see also Trainer::keep.
  struct Resume {};
  RunDirectory(Resume, const std::filesystem::path& directory, Trainer& trainer, const std::string& data_fingerprint);

  void add(const Evaluation& evaluation);
  // Writes the rest; `identity` gets the hashes of the files.
  void finish(const Result& result, const StateDict& parameters, const DataDescription& about, RunIdentity& identity);

 private:
  void reopen_metrics(std::int64_t last_step);

  std::filesystem::path directory_;
  const Trainer& trainer_;
  std::optional<LineFile> metrics_;
};

// Makes a directory for its user alone (mode 0700); one that is there already keeps its permissions.
void make_run_directory(const std::filesystem::path& directory);

// Throws what RunDirectory or a save to `file` would, before a long run rather than after it.
void check_can_make_run(const std::filesystem::path& directory);
// The same for a directory that other files will be written to.
void check_can_make_run(const std::filesystem::path& directory, std::span<const char* const> files);
void check_can_write(const std::filesystem::path& file);

}  // namespace fodp
