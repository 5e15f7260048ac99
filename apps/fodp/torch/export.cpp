// fodp export: a trained run as a TorchScript file.
#include "fodp/training/export.h"

#include <fmt/core.h>
#include <torch/nn/module.h>

#include "command.h"
#include "flags.h"
#include "fodp/base/check.h"
#include "fodp/base/json_text.h"
#include "trained_run.h"

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

// model.json keeps its order: the exported file carries it as it is.
void export_run(const std::filesystem::path& run, const std::string& out) {
  const TrainedRun trained = read_trained_run(run);
  const auto about = nlohmann::ordered_json::parse(read_text_file(run / "model.json", trained.where));
  export_model(*trained.model.module, about, out);
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
