// fodp report: one page about studies and runs. No data, no LibTorch.
#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/base/check.h"
#include "study/report.h"

namespace fodp::app {
namespace {

struct ReportOptions {
  std::string out = "report.html";

  static auto fields() {
    return std::tuple{field("out", &ReportOptions::out, "the page; for a study its tables and figures are written anew in DIR")};
  }
};

}  // namespace

int report(const Words& words) {
  std::vector<std::string> directories;
  ReportOptions options;
  Flags flags(
      "report",
      "Writes one page about studies and runs that looks the same everywhere: it needs no other file and no network. Of a study: "
      "verdicts, tables, figures to look into. Of a run of `fodp train`: its own privacy report, with statement, curve and settings.",
      "fodp report runs/demo --out demo.html");
  flags.add_positional("DIR", "directories of studies or of runs", directories);
  flags.add("Report", options);
  if (!flags.parse(words)) return 0;
  check_input(!directories.empty(), "give the directory of a study or of a run; for example: fodp report runs/demo --out demo.html");
  std::vector<nlohmann::ordered_json> sections;
  Written written;
  for (const std::string& directory : directories) {
    check_input(std::filesystem::is_directory(directory), "{}: there is no such directory", directory);
    if (!is_study_directory(directory)) {
      sections.push_back(run_section(directory));
      continue;
    }
    const RecordFile records(std::filesystem::path(directory) / "records.jsonl");
    const std::vector<StudyResults> all = read_results(directory, records);
    const Written one = write_tables_and_figures(directory, all);
    written.tables.insert(written.tables.end(), one.tables.begin(), one.tables.end());
    written.figures.insert(written.figures.end(), one.figures.begin(), one.figures.end());
    for (const StudyResults& results : all) sections.push_back(study_section(results));
  }
  write_page(sections.size() == 1 ? "fodp: " + sections.front().value("title", "") : "fodp report", sections, options.out);
  if (flags.json())
    print_json({{"pages", {options.out}}, {"figures", written.figures}, {"tables", written.tables}});
  else if (!flags.quiet())
    note(fmt::format("{} written\n", options.out));
  return 0;
}

}  // namespace fodp::app
