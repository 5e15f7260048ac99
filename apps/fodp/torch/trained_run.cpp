#include "trained_run.h"

#include <numeric>

#include <ATen/core/grad_mode.h>
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
  const nlohmann::json summary = read_json(directory, "summary.json"), about = read_json(directory, "model.json");
  const nlohmann::json config = read_json(directory, "config.json");
  const std::filesystem::path weights = directory / "model.pt";
  try {
    check_input(std::filesystem::exists(weights) && summary.at("model_sha256") == sha256_file(weights),
                "--run {}: model.pt is not the file that the run has recorded: it is missing, or its SHA-256 differs from summary.json's",
                directory.string());
    const nlohmann::json& inputs = about.at("inputs");
    check_input(inputs.value("kind", "") == "table", "--run {}: was trained on {}, not on a table: there is no schema to read a file by",
                directory.string(), summary.at("data").get<std::string>());
    std::optional<std::string> unit;
    if (inputs.contains("privacy_unit")) unit = inputs.at("privacy_unit").get<std::string>();
    const std::string where = (directory / "model.json").string() + ": schema";
    const std::string text = inputs.at("schema");
    TrainedRun run{.schema = with_unit(schema_from_toml(text, where), unit, where), .model = {}};
    run.model = make_model(model_options(config, (directory / "config.json").string()), shape_for_model(describe_table(run.schema, text)));
    load_parameters(weights, *run.model.module);
    run.model.module->eval();
    run.data_fingerprint = summary.value("data_fingerprint", "");
    return run;
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("--run {}: model.json, config.json or summary.json is damaged", directory.string()));
  }
}

std::vector<double> predictions_of(const TrainedRun& run, const TableRows& rows) {
  constexpr std::int64_t kRows = 4096;
  const at::NoGradGuard no_gradients;
  std::vector<double> out;
  for (std::int64_t begin = 0; begin < rows.count(); begin += kRows) {
    std::vector<std::int64_t> which(static_cast<std::size_t>(std::min(kRows, rows.count() - begin)));
    std::iota(which.begin(), which.end(), begin);
    const at::Tensor outputs = run.model.forward(rows.gather(which).inputs).to(at::kDouble);
    const at::Tensor values = (run.schema.is_regression() ? outputs : outputs.softmax(1)).contiguous();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const double value = values.data_ptr<double>()[i];
      out.push_back(run.schema.is_regression() ? unscaled(run.schema.label(), value) : value);
    }
  }
  return out;
}

}  // namespace fodp::app
