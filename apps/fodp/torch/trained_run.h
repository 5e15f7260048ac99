// A run that has been trained, ready to predict.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fodp/features/feature_data.h"
#include "fodp/models/model.h"

namespace fodp::app {

struct TrainedRun {
  nlohmann::json about;              // model.json
  std::string where;                 // what messages call it
  DataDescription data;              // what was public about the data that it was trained on
  std::vector<std::string> classes;  // their names, or their numbers where they have none; empty for a regression
  Model model;
  std::string data_fingerprint = {};  // of the files that it was trained on
  bool tests_were_private = false;    // its test rows were released with noise

  bool is_regression() const { return classes.empty(); }
  double number(double output) const { return data.target_low + (output + 1) * data.target_scale; }  // of a regression
  bool takes_features() const { return data.unit_norm; }
  NewRows read(const NewRowsOptions& options, const NewFeatures& features, const FeatureWork& work) const {
    return read_new_with_features(about, options, features, where, work);
  }
};

// From the run's directory alone, which may have been moved. InputError if it is not one or if its model file is not the one that the run
// recorded.
TrainedRun read_trained_run(const std::filesystem::path& directory);

struct Predictions {
  std::vector<double> values;  // for each row: the probability of each class, row after row; or the number, in its own units
  at::Tensor targets;          // of the rows, where they were read with labels
};
// InputError for a row for which the model gives no finite number.
Predictions predictions_of(const TrainedRun& run, const Rows& rows);

}  // namespace fodp::app
