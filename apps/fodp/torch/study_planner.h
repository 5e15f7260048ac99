// What a run of a study would be: its options checked and resolved, the command that trains it, and the key of its record.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/records.h"
#include "study/study.h"

namespace fodp::app {

struct PlannedRun {
  StudyRun run;
  Record config;               // as config.json would have it
  std::string key;             // of its record: a hash of fodp's version, the training files and every option that decides the result
  std::string choice;          // the same without the version: what a tuned value rests on
  std::string test_data;       // a hash of the test set, which a record's results are of
  double work = 0;             // a rough number of seconds on one core, where nothing was measured
  std::set<std::string> read;  // of the options that the study gives, those that have an effect on this run
};

class StudyPlanner {
 public:
  explicit StudyPlanner(std::optional<std::string> data_dir) : data_dir_(std::move(data_dir)) {}

  // InputError, naming the study's file and the run, for options that cannot be trained with; and if the data are not found, unless
  // `dry_run`.
  PlannedRun plan(const Study& study, const StudyRun& run, bool dry_run);

  // InputError for an option of the study that `fodp train` does not have, or that none of these runs reads.
  static void check_options(const Study& study);
  static void check_read(const Study& study, const std::vector<PlannedRun>& runs);
  // InputError if two of these runs are the same training under different labels.
  static void check_differ(const Study& study, const std::vector<PlannedRun>& runs);

  // The words that train it into this directory.
  std::vector<std::string> words(const PlannedRun& run, const std::string& out);

 private:
  std::optional<std::string> folder_of(const std::string& data);
  struct Fingerprints {
    std::string train, test;
  };
  Fingerprints fingerprints(const std::string& data, bool dry_run);

  std::optional<std::string> data_dir_;
  std::map<std::string, std::optional<std::string>> folders_;
  std::map<std::string, Fingerprints> fingerprints_;
  std::map<Options, PlannedRun> planned_;  // by the options without seeds, which decide nothing else
};

}  // namespace fodp::app
