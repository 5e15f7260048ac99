// A study's file, and the runs that it stands for.
#include "study/study_file.h"

#include "target.h"

FODP_FUZZ_TARGET(study) {
  const std::filesystem::path file = file_with("study", bytes);
  const app::Study study = app::read_study(file);
  const std::size_t runs = app::runs_of(study, false, {}).size();
  require(runs <= app::kMostRuns, "a study has no more runs than are allowed");
  for (const app::Place& place : app::tuning_places(study))
    require(app::tuning_runs(study, place, false).size() >= 2, "tuning tries at least two values");
  app::read_study(file, /*quick=*/true);
}
