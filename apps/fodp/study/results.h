// What a study's directory holds: for each study that was run in it the file it was read from, its runs, and the record of each run that
// has ended.
//
//   DIR/records.jsonl       records.h
//   DIR/studies/NAME.toml   the study as it was run
//   DIR/studies/NAME.json   its runs and the keys of their records, and what tuning chose
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/records.h"
#include "study/study.h"

namespace fodp::app {

// What tuning chose at a place, and the mean accuracy on held-out rows of every value that was tried; minus infinity for one whose runs
// failed.
struct Choice {
  Place place;
  std::string value;
  std::vector<std::pair<std::string, double>> scores;
  std::string key;  // a hash of the runs that it rests on
  bool at_edge() const { return value == scores.front().first || value == scores.back().first; }
};

// A run of the study proper. `record` is null while it has none, and points into the directory's records.
struct RunResult {
  Place place;
  std::int64_t seed = 0;
  std::string key;
  const Record* record = nullptr;

  bool done() const { return record && (*record)["status"] == "done"; }
};

struct StudyResults {
  Study study;
  bool quick = false, secure = false;
  std::vector<RunResult> runs;
  std::vector<Choice> choices;
  std::int64_t other_records = 0;  // of this study, but of other options, data or another version of fodp: they are not used

  void count_other_records(const RecordFile& records);

  // The runs that have ended well, at places that agree with `part`, in the order of the seeds.
  std::vector<const RunResult*> at(const Place& part) const;
};

nlohmann::ordered_json choices_json(const std::vector<Choice>& choices);
std::vector<Choice> choices_from_json(const nlohmann::ordered_json& json, const std::string& where);

// Every study of the directory, by name; `records` must outlive the answer. InputError if it is not the directory of a study.
std::vector<StudyResults> read_results(const std::filesystem::path& directory, const RecordFile& records);

// Writes DIR/studies/NAME.toml and NAME.json.
void write_study(const std::filesystem::path& directory, const StudyResults& results);

// Whether the directory is one of a study, not of a single run.
bool is_study_directory(const std::filesystem::path& directory);

}  // namespace fodp::app
