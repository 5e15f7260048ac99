// fodp evaluate: how well a trained run predicts rows that are public.
#include <algorithm>

#include <fmt/core.h>

#include "command.h"
#include "feature_progress.h"
#include "flags.h"
#include "fodp/base/check.h"
#include "fodp/base/fields_json.h"
#include "fodp/training/metrics.h"
#include "text.h"
#include "trained_run.h"

namespace fodp::app {
namespace {

struct EvaluateOptions {
  std::string run, data;
  std::optional<std::string> labels;

  static auto fields() {
    using Self = EvaluateOptions;
    return std::tuple{
        field("run", &Self::run, "the directory of the run: what fodp train --out made"),
        field("data", &Self::data,
              "the rows, of the kind that the run was trained on, with labels: a table of its schema; a .npy, .npz or .safetensors file; a "
              "folder of images, one sub-folder for each class"),
        field("labels", &Self::labels, "the .npy file with the labels, where the data is a .npy file"),
    };
  }
};

nlohmann::ordered_json json_of(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json class_json(const ClassMetrics& metrics, const std::vector<std::string>& classes, std::int64_t rows) {
  nlohmann::ordered_json out = {{"rows", rows},
                                {"accuracy", metrics.accuracy},
                                {"log_loss", metrics.log_loss},
                                {"confusion", metrics.confusion},
                                {"classes", classes},
                                {"calibration_error", metrics.calibration_error}};
  for (std::size_t i = 0; i < classes.size(); ++i) out["class_accuracy"][classes[i]] = json_of(metrics.class_accuracy[i]);
  if (classes.size() == 2) out["roc_auc"] = json_of(metrics.roc_auc);
  return out;
}

std::string class_text(const ClassMetrics& metrics, const std::vector<std::string>& classes) {
  std::string text = fmt::format("Accuracy {:.2f}%, log loss {:.4f}, calibration error {:.4f}", 100 * metrics.accuracy, metrics.log_loss,
                                 metrics.calibration_error);
  if (metrics.roc_auc) text += fmt::format(", ROC-AUC {:.4f}", *metrics.roc_auc);
  std::size_t width = 9;
  for (const std::string& name : classes) width = std::max(width, name.size() + 1);
  text += fmt::format("\n\n{:<{}}{:>10}  predicted as\n{:<{}}{:>10}", "", width, "", "class", width, "correct");
  for (const std::string& name : classes) text += fmt::format("{:>{}}", name, width);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::string share = metrics.class_accuracy[i] ? fmt::format("{:.2f}%", 100 * *metrics.class_accuracy[i]) : "no rows";
    text += fmt::format("\n{:<{}}{:>10}", classes[i], width, share);
    for (const std::int64_t count : metrics.confusion[i]) text += fmt::format("{:>{}}", count, width);
  }
  return text + "\n";
}

}  // namespace

int evaluate(const Words& words) {
  EvaluateOptions options;
  Flags flags("evaluate",
              "How well a model that was trained predicts rows with known labels. The rows are taken as public: what is printed has "
              "no noise and is counted nowhere. For private rows, hold some out when you train (fodp train --test-fraction).",
              "fodp evaluate --run runs/adult --data public.csv");
  flags.add("Evaluate", options);
  NewFeatures features;
  flags.add("Features", features);
  if (!flags.parse(words)) return 0;
  check_input(!options.run.empty(), "--run is missing: the directory of a trained run");
  check_input(!options.data.empty(), "--data is missing: the file or folder with public rows");
  const TrainedRun run = read_trained_run(options.run);
  const FeatureWork work = feature_work(flags.quiet(), std::nullopt);
  const NewRows read = run.read({.data = options.data, .labels = options.labels, .with_labels = true}, features, work);
  if (!read.fingerprint.empty() && read.fingerprint == run.data_fingerprint)
    note(fmt::format("fodp: warning: {} is what the run was trained on: these numbers protect nobody in it, and flatter the model\n",
                     options.data));
  else if (run.tests_were_private)
    note("fodp: the run's own test rows are private, and its statement counts what was told of them: give other rows here\n");
  const Rows& rows = *read.rows;
  const auto [predicted, targets] = predictions_of(run, rows);
  const std::string note_text = "The rows are taken as public: these numbers have no noise.\n";
  if (run.is_regression()) {
    std::vector<double> labels;
    for (std::int64_t i = 0; i < rows.count(); ++i) labels.push_back(run.number(targets.data_ptr<float>()[i]));
    const NumberMetrics metrics = number_metrics(predicted, labels);
    if (flags.json()) return print_json({{"rows", rows.count()}, {"rmse", metrics.rmse}, {"mae", metrics.mae}, {"r2", metrics.r2}}), 0;
    print_text(fmt::format("RMSE {:.6g}, mean absolute error {:.6g}, R2 {:.4f} over {} rows\n", metrics.rmse, metrics.mae, metrics.r2,
                           rows.count()));
  } else {
    const std::vector<std::string>& classes = run.classes;
    const ClassMetrics metrics = class_metrics(predicted, {targets.data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.count())},
                                               static_cast<std::int64_t>(classes.size()));
    if (flags.json()) return print_json(class_json(metrics, classes, rows.count())), 0;
    print_text(fmt::format("{} rows\n", rows.count()) + class_text(metrics, classes));
  }
  if (!flags.quiet()) note(note_text);
  return 0;
}

}  // namespace fodp::app
