// fodp export: a trained run as a TorchScript file.
#include "fodp/training/export.h"

#include <fmt/core.h>
#include <torch/nn/module.h>

#include "command.h"
#include "flags.h"
#include "fodp/base/check.h"
#include "fodp/base/json_text.h"
#include "fodp/base/sha256.h"
#include "fodp/models/model.h"
#include "fodp/training/model_file.h"

namespace fodp::app {
namespace {

struct ExportOptions {
  std::string run, out;

  static auto fields() {
    using Self = ExportOptions;
    return std::tuple{
        field("run", &Self::run, "the directory of the run: what fodp train --out made"),
        field("out", &Self::out, "the file to write, whose name ends in .ts"),
    };
  }
};

template <class Json>
Json read(const std::filesystem::path& run, const char* name) {
  const std::filesystem::path file = run / name;
  check_input(std::filesystem::exists(file), "--run {}: not the directory of a run that was trained to its end: it has no {}", run.string(),
              name);
  parse_json(read_text_file(file, file.string()), file.string());  // for its checks; it does not keep the order
  return Json::parse(read_text_file(file, file.string()));
}

// The options of the model as the run's config.json has them.
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

void export_run(const std::filesystem::path& run, const std::string& out) {
  const auto about = read<nlohmann::ordered_json>(run, "model.json");
  const auto summary = read<nlohmann::json>(run, "summary.json"), config = read<nlohmann::json>(run, "config.json");
  const std::filesystem::path weights = run / "model.pt";
  try {
    check_input(std::filesystem::exists(weights) && summary.at("model_sha256") == sha256_file(weights),
                "--run {}: model.pt is not the file that the run has recorded: it is missing, or its SHA-256 differs from summary.json's",
                run.string());
    const auto shape = about.at("inputs").at("shape").get<std::vector<std::int64_t>>();
    const std::int64_t outputs = std::max<std::int64_t>(1, about.at("classes").get<std::int64_t>());  // of a number there is one
    const Model model = make_model(model_options(config, (run / "config.json").string()), InputShape::of(shape, outputs));
    load_parameters(weights, *model.module);
    export_model(*model.module, about, out);
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("--run {}: model.json, config.json or summary.json is damaged", run.string()));
  }
}

}  // namespace

int export_(const Words& words) {
  ExportOptions options;
  Flags flags("export",
              "Writes the model of a run as TorchScript, together with what it does to raw inputs (the schema of a table, the "
              "normalisation of pixels). Python's torch.jit.load and LibTorch run the file without fodp: docs/tables.md and docs/models.md "
              "have the lines. This costs no privacy: the parameters were released by the training.",
              "fodp export --run runs/adult --out adult.ts");
  flags.add("Export", options);
  if (!flags.parse(words)) return 0;
  check_input(!options.run.empty(), "--run is missing: the directory of a trained run");
  check_input(!options.out.empty(), "--out is missing: the file to write, such as model.ts");
  export_run(options.run, options.out);
  if (flags.json()) return print_json({{"out", options.out}}), 0;
  if (!flags.quiet()) note(fmt::format("{} written\n", options.out));
  return 0;
}

}  // namespace fodp::app
