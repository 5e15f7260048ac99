// Studies that are being run into one directory: what is recorded is skipped, the rest is trained, and tables, figures and the page are
// made of whatever there is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fodp/base/fields.h"
#include "study/records.h"
#include "study/results.h"
#include "study/study.h"
#include "study_planner.h"

namespace fodp::app {

struct StudyOptions {
  std::optional<std::string> out, data_dir;
  std::optional<std::int64_t> jobs;
  bool quick = false, dry_run = false, secure = false, tune = false;

  static auto fields() {
    using Self = StudyOptions;
    return std::tuple{
        field("out", &Self::out, "the directory for records, tables, figures and the page; runs that are recorded in it are not repeated",
              {}, "runs/NAME"),
        field("data-dir", &Self::data_dir, "folder with the data sets' standard files, in it or in their usual sub-folders"),
        field("jobs", &Self::jobs, "runs at a time, one thread each", between(1, 1024), "the cores, or what the study says"),
        field("quick", &Self::quick,
              "one seed and a tenth of the training, or what the study's section [quick] says: a look, not a result"),
        field("dry-run", &Self::dry_run, "list the runs and the expected time; train nothing"),
        field("secure", &Self::secure, "draw secret noise; without it seeds are fixed, so that a study can be repeated to the bit"),
        field("tune", &Self::tune, "choose tuned options anew instead of taking the recorded choice"),
    };
  }
};

class StudySession {
 public:
  // Reads and checks everything before anything is trained. `files` are study files.
  StudySession(const std::vector<std::filesystem::path>& files, const StudyOptions& options, bool quiet);

  struct Count {
    std::int64_t runs = 0, recorded = 0, done = 0, failed = 0;  // of all studies, with their tuning; done and failed: in this session
    double seconds = 0;                                         // expected for what is left, over all cores
  };
  Count count() const;

  // Trains what is missing. False if it was interrupted.
  bool run();

  std::vector<StudyResults> results() const;
  const RecordFile& records() const { return *records_; }
  std::string plan_text() const;  // what --dry-run prints

 private:
  struct Part {
    Study study;
    Study full;  // the same without --quick, whose tuned values are taken
    std::vector<PlannedRun> tuning, runs;
    std::vector<Choice> choices;
    std::vector<Place> open;  // places of tuning that have no choice yet
  };
  struct Job {
    const Part* part;
    const PlannedRun* run;
  };
  void prepare(Part& part);
  void choose(Part& part);
  void plan_runs(Part& part, bool final);
  void check_directory() const;
  void check_names() const;
  const Record* record_of(const PlannedRun& run, std::string_view study = {}) const;  // of a run that is done; null if there is none
  bool recorded(const Part& part, const PlannedRun& run);
  bool train_missing(std::vector<PlannedRun> Part::*list);
  bool train(const std::vector<Job>& jobs, std::int64_t at_once);
  void finish(const Job& job, int status);
  double expected_seconds(const Part& part, const PlannedRun& run) const;
  std::int64_t jobs_at_once(const Part& part) const;
  std::filesystem::path folder_of(const PlannedRun& run) const;

  StudyOptions options_;
  bool quiet_;
  std::filesystem::path directory_;
  StudyPlanner planner_;
  std::optional<RecordFile> records_;
  std::vector<Part> parts_;
  std::int64_t done_ = 0, failed_ = 0;
  int lock_ = -1;

 public:
  ~StudySession();
  StudySession(const StudySession&) = delete;
  StudySession& operator=(const StudySession&) = delete;
};

}  // namespace fodp::app
