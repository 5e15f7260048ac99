// fodp predict: what a trained run says of new rows.
#include <algorithm>
#include <span>

#include <fmt/core.h>

#include "command.h"
#include "feature_progress.h"
#include "flags.h"
#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/data/csv.h"
#include "trained_run.h"

namespace fodp::app {
namespace {

struct PredictOptions {
  std::string run, data;
  std::optional<std::string> out;

  static auto fields() {
    using Self = PredictOptions;
    return std::tuple{
        field("run", &Self::run, "the directory of the run: what fodp train --out made"),
        field("data", &Self::data,
              "the rows, of the kind that the run was trained on, with labels or without: a table of its schema; a .npy, .npz or "
              ".safetensors file; a folder of images, or one image"),
        field("out", &Self::out, "write the predictions to this file", {}, "standard output"),
    };
  }
};

std::string csv_of(const TrainedRun& run, const NewRows& rows, const std::vector<double>& values) {
  std::string text = "row,prediction";
  for (const std::string& name : run.classes) text += "," + csv_field("p_" + name);
  text += rows.names.empty() ? "\n" : ",file\n";
  const std::size_t width = run.is_regression() ? 1 : run.classes.size();
  for (std::size_t row = 0; row * width < values.size(); ++row) {
    const auto own = std::span(values).subspan(row * width, width);
    if (run.is_regression()) {
      text += fmt::format("{},{:.9g}", row + 1, own[0]);
    } else {
      text += fmt::format("{},{}", row + 1, csv_field(run.classes[static_cast<std::size_t>(std::ranges::max_element(own) - own.begin())]));
      for (const double probability : own) text += fmt::format(",{:.6f}", probability);
    }
    text += rows.names.empty() ? "\n" : "," + csv_field(rows.names[row]) + "\n";
  }
  return text;
}

}  // namespace

int predict(const Words& words) {
  PredictOptions options;
  Flags flags(
      "predict",
      "Predicts rows by a model that was trained. One line for each row, in order: its number from 1, the class, and the probability of "
      "each class; or the number that a regression predicts. Of images, the file's name follows.",
      "fodp predict --run runs/adult --data new.csv --out predictions.csv");
  flags.add("Predict", options);
  NewFeatures features;
  flags.add("Features", features);
  if (!flags.parse(words)) return 0;
  check_input(!options.run.empty(), "--run is missing: the directory of a trained run");
  check_input(!options.data.empty(), "--data is missing: the file or folder with the rows to predict");
  check_input(options.out || !flags.json(), "--json tells how many rows were predicted: give --out for the predictions themselves");
  const TrainedRun run = read_trained_run(options.run);
  const FeatureWork work = feature_work(flags.quiet(), std::nullopt);
  const NewRows rows = run.read({.data = options.data}, features, work);
  const std::int64_t count = rows.rows->count();
  const std::string text = csv_of(run, rows, predictions_of(run, *rows.rows).values);
  if (options.out) write_file_atomically(*options.out, text, "predictions");
  if (flags.json())
    return print_json({{"rows", count}, {"out", options.out ? nlohmann::ordered_json(*options.out) : nlohmann::ordered_json()}}), 0;
  if (!options.out) fmt::print("{}", text);
  if (options.out && !flags.quiet()) note(fmt::format("{}: {} rows\n", *options.out, count));
  return 0;
}

}  // namespace fodp::app
