// fodp report: one page about studies and runs. No data, no LibTorch.
#include <unistd.h>

#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "study/quantities.h"
#include "study/report.h"

namespace fodp::app {
namespace {

struct ReportOptions {
  std::string out = "report.html";
  std::optional<std::string> compact, markdown;

  static auto fields() {
    using Self = ReportOptions;
    return std::tuple{
        field("out", &Self::out, "the page; for a study its tables and figures are written anew in DIR"),
        field("compact", &Self::compact,
              "also write the studies to this directory in little room, to be kept with a project: what tables and figures need, with five "
              "digits and curves of at most 13 points"),
        field("markdown", &Self::markdown, "also write the studies to this Markdown file, for a document of one's own"),
    };
  }
};

constexpr std::size_t kCompactPoints = 13;

// The records of the studies' runs, without those of tuning, whose outcome stands with the study.
void write_compact(const std::filesystem::path& directory, const std::vector<StudyResults>& all) {
  std::filesystem::create_directories(directory);
  RecordFile records(directory / "records.jsonl", RecordFile::Torn::cut);
  for (const StudyResults& results : all) {
    write_study(directory, results);
    const std::set<std::string> columns = curve_columns(results.study);
    for (const RunResult& run : results.runs)
      if (run.done() && !records.find(run.key, results.study.name)) records.add(compact_record(*run.record, columns, kCompactPoints));
  }
}

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
  const std::string ending = std::filesystem::path(options.out).extension().string();
  check_input(ending == ".html" || ending == ".htm", "--out {}: the page is HTML: give a name that ends in .html", options.out);
  std::vector<nlohmann::ordered_json> sections;
  std::string markdown;
  Written written;
  for (const std::string& directory : directories) {
    check_input(std::filesystem::is_directory(directory), "{}: there is no such directory", directory);
    if (!is_study_directory(directory)) {
      sections.push_back(run_section(directory));
      continue;
    }
    const RecordFile records(std::filesystem::path(directory) / "records.jsonl");
    const std::vector<StudyResults> all = read_results(directory, records);
    if (records.torn())
      note(fmt::format("fodp: the last line of {}/records.jsonl is torn and is left out; the study's own command does its run again\n",
                       directory));
    const bool writable = ::access(directory.c_str(), W_OK | X_OK) == 0;
    if (!writable) note(fmt::format("fodp: {} cannot be written: its tables and figures are only on the page\n", directory));
    const Written one = writable ? write_tables_and_figures(directory, all) : Written();
    written.tables.insert(written.tables.end(), one.tables.begin(), one.tables.end());
    written.figures.insert(written.figures.end(), one.figures.begin(), one.figures.end());
    for (const StudyResults& results : all) sections.push_back(study_section(results));
    if (options.compact) write_compact(*options.compact, all);
    for (const StudyResults& results : all) markdown += study_markdown(results, "figures") + "\n";
  }
  write_page(sections.size() == 1 ? "fodp: " + sections.front().value("title", "") : "fodp report", sections, options.out);
  if (options.markdown) write_file_atomically(*options.markdown, markdown, "document");
  if (flags.json())
    print_json({{"pages", {options.out}}, {"figures", written.figures}, {"tables", written.tables}});
  else if (!flags.quiet())
    note(fmt::format("{} written\n", options.out));
  return 0;
}

}  // namespace fodp::app
