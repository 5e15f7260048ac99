// fodp data: which data sets are found where. Every file is read and checked.
#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/data/dataset.h"
#include "text.h"

namespace fodp::app {
namespace {

struct FindOptions {
  std::optional<std::string> data_dir;

  static auto fields() {
    return std::tuple{field("data-dir", &FindOptions::data_dir, "folder with the standard files, in it or in their usual sub-folders")};
  }
};

nlohmann::ordered_json report_json(const DataReport& report) {
  nlohmann::ordered_json out = {{"name", report.name}, {"found", report.folder.has_value()}};
  out["folder"] = report.folder ? nlohmann::ordered_json(report.folder->string()) : nlohmann::ordered_json();
  out["train_examples"] = report.train_examples;
  out["test_examples"] = report.test_examples;
  out["shape"] = {report.channels, report.height, report.width};
  out["classes"] = report.classes;
  out["checked"] = report.found;
  if (!report.problem.empty()) out["problem"] = with_dashes(report.problem);
  return out;
}

void check_is_folder(const std::string& name) {
  std::error_code ignored;
  check_input(std::filesystem::exists(name, ignored), "--data-dir {}: no such folder", name.empty() ? "''" : name);
  check_input(std::filesystem::is_directory(name, ignored), "--data-dir {}: is not a folder", name);
}

}  // namespace

int data(const Words& words) {
  FindOptions options;
  Flags flags("data", "Which data sets are found where; every file is read and checked.", "fodp data --data-dir ~/datasets");
  flags.add("Where to look", options);
  if (!flags.parse(words)) return 0;
  if (options.data_dir) check_is_folder(*options.data_dir);
  const std::vector<DataReport> reports =
      inspect_data(options.data_dir ? std::optional<std::filesystem::path>(*options.data_dir) : std::nullopt);
  if (flags.json()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const DataReport& report : reports) list.push_back(report_json(report));
    return print_json({{"data", list}}), 0;
  }
  for (const DataReport& report : reports) {
    if (report.found)
      print_text(fmt::format("{:<14}  {} training and {} test images of {}x{}x{}, {} classes, in {}\n", report.name, report.train_examples,
                             report.test_examples, report.channels, report.height, report.width, report.classes, report.folder->string()));
    else
      print_text(fmt::format("{:<14}  not usable: {}\n", report.name, with_dashes(report.problem)));
  }
  return 0;
}

}  // namespace fodp::app
