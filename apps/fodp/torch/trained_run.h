// A run that has been trained on a table, ready to predict.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fodp/data/table.h"
#include "fodp/models/model.h"

namespace fodp::app {

struct TrainedRun {
  Schema schema;
  Model model;
  std::string data_fingerprint = {};  // of the files that it was trained on
};

// From the run's directory alone, which may have been moved. InputError if it is not one, if its model file is not the one that the run
// recorded, or if the run was not trained on a table.
TrainedRun read_trained_run(const std::filesystem::path& directory);

// For each row: the probability of each class, row after row; or the number, in the units of the table.
std::vector<double> predictions_of(const TrainedRun& run, const TableRows& rows);

}  // namespace fodp::app
