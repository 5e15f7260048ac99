#include "trained_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/softmax.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/base/json_text.h"
#include "fodp/base/sha256.h"
#include "fodp/training/model_file.h"
#include "fodp/training/plan.h"

namespace fodp::app {
namespace {

nlohmann::json read_json(const std::filesystem::path& directory, const char* name) {
  const std::filesystem::path file = directory / name;
  check_input(std::filesystem::exists(file), "--run {}: not the directory of a run that was trained to its end: it has no {}",
              directory.string(), name);
  return parse_json(read_text_file(file, file.string()), file.string());
}

ModelOptions model_options(const nlohmann::json& config, const std::string& where) {
  ModelOptions options;
  for_each_field(options, [&](const auto& field, auto& value) {
    const nlohmann::json& item = config.at(json_name(field.name));
    std::string text = item.is_string() ? item.get<std::string>() : "";
    if (item.is_array())
      for (const nlohmann::json& one : item) text += (text.empty() ? "" : ",") + one.dump();
    value = FieldText<std::remove_cvref_t<decltype(value)>>::parse(text, where, field.range);
  });
  return options;
}

}  // namespace

TrainedRun read_trained_run(const std::filesystem::path& directory) {
  const nlohmann::json summary = read_json(directory, "summary.json"), config = read_json(directory, "config.json");
  TrainedRun run{
      .about = read_json(directory, "model.json"), .where = (directory / "model.json").string(), .data = {}, .classes = {}, .model = {}};
  const std::filesystem::path weights = directory / "model.pt";
  try {
    check_input(std::filesystem::exists(weights) && summary.at("model_sha256") == sha256_file(weights),
                "--run {}: model.pt is not the file that the run has recorded: it is missing, or its SHA-256 differs from summary.json's",
                directory.string());
    run.data = describe_trained_with_features(run.about, run.where);
    run.classes = run.data.class_names;
    for (std::int64_t i = static_cast<std::int64_t>(run.classes.size()); i < run.data.target.classes; ++i)
      run.classes.push_back(std::to_string(i));
    run.model = make_model(model_options(config, (directory / "config.json").string()), shape_for_model(run.data));
    load_parameters(weights, *run.model.module);
    run.model.module->eval();
    run.data_fingerprint = summary.value("data_fingerprint", "");
    const bool has_tests = !config.at("test").empty() || !config.at("test_fraction").is_null();
    run.tests_were_private = has_tests && find_data_kind(config.at("data").get<std::string>()) && config.at("test_public") == false;
    return run;
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("--run {}: model.json, config.json or summary.json is damaged", directory.string()));
  }
}

Predictions predictions_of(const TrainedRun& run, const Rows& rows) {
  // So many values at once at most, since a model of images needs some times the memory of its inputs. Features are computed by many at
  // once.
  std::int64_t values = 1;
  for (const std::int64_t size : run.data.row_shape) values *= size;
  const std::int64_t at_once = run.takes_features() ? 256 : std::clamp<std::int64_t>((1 << 18) / values, 1, 4096);
  const at::NoGradGuard no_gradients;
  Predictions out;
  std::vector<at::Tensor> targets;
  for (std::int64_t begin = 0; begin < rows.count(); begin += at_once) {
    std::vector<std::int64_t> which(static_cast<std::size_t>(std::min(at_once, rows.count() - begin)));
    std::iota(which.begin(), which.end(), begin);
    const Batch batch = rows.gather(which);
    targets.push_back(batch.targets);
    const at::Tensor outputs = run.model.forward(batch.inputs).to(at::kDouble);
    const at::Tensor found = (run.is_regression() ? outputs : outputs.softmax(1)).contiguous();
    const std::int64_t each = found.numel() / outputs.size(0);
    for (std::int64_t i = 0; i < found.numel(); ++i) {
      const double value = found.data_ptr<double>()[i];
      check_input(std::isfinite(value), "row {}: the model gives no finite number for it: its inputs are too large", begin + i / each + 1);
      out.values.push_back(run.is_regression() ? run.number(value) : value);
    }
  }
  out.targets = at::cat(targets);
  return out;
}

}  // namespace fodp::app
