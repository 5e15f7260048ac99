// fodp predict: what a trained run says of new rows.
#include <algorithm>

#include <fmt/core.h>

#include "command.h"
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
        field("data", &Self::data, "the file with the rows, a table of the run's schema; the label may be there or not"),
        field("out", &Self::out, "write the predictions to this file", {}, "standard output"),
    };
  }
};

std::string csv_of(const TrainedRun& run, const std::vector<double>& values) {
  const std::vector<std::string>& classes = run.schema.label().values;
  std::string text = "row,prediction";
  for (const std::string& name : classes) text += "," + csv_field("p_" + name);
  text += "\n";
  const std::size_t width = classes.empty() ? 1 : classes.size();
  for (std::size_t row = 0; row * width < values.size(); ++row) {
    const auto own = std::span(values).subspan(row * width, width);
    if (classes.empty()) {
      text += fmt::format("{},{:.9g}\n", row + 1, own[0]);
      continue;
    }
    text += fmt::format("{},{}", row + 1, csv_field(classes[static_cast<std::size_t>(std::ranges::max_element(own) - own.begin())]));
    for (const double probability : own) text += fmt::format(",{:.6f}", probability);
    text += "\n";
  }
  return text;
}

}  // namespace

int predict(const Words& words) {
  PredictOptions options;
  Flags flags(
      "predict",
      "Predicts rows by a model that was trained on a table. One line for each row, in order: its number from 1, the class, and the "
      "probability of each class; or the number that a regression predicts.",
      "fodp predict --run runs/adult --data new.csv --out predictions.csv");
  flags.add("Predict", options);
  if (!flags.parse(words)) return 0;
  check_input(!options.run.empty(), "--run is missing: the directory of a trained run");
  check_input(!options.data.empty(), "--data is missing: the file with the rows to predict");
  const TrainedRun run = read_trained_run(options.run);
  TableRows rows(run.schema);
  rows.add_file(options.data, TableUse::predict);
  const std::string text = csv_of(run, predictions_of(run, rows));
  if (options.out) write_file_atomically(*options.out, text, "predictions");
  if (flags.json())
    return print_json({{"rows", rows.count()}, {"out", options.out ? nlohmann::ordered_json(*options.out) : nlohmann::ordered_json()}}), 0;
  if (!options.out) fmt::print("{}", text);
  if (options.out && !flags.quiet()) note(fmt::format("{}: {} rows\n", *options.out, rows.count()));
  return 0;
}

}  // namespace fodp::app
