// fodp study and fodp reproduce: many trainings from files, and what comes of them.
#include <algorithm>
#include <thread>

#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "interrupt.h"
#include "share.h"
#include "study/report.h"
#include "study/study_file.h"
#include "study/table.h"
#include "study/verdict.h"
#include "study_progress.h"
#include "study_session.h"
#include "text.h"

namespace fodp::app {
namespace {

nlohmann::ordered_json result_json(const StudySession& session, const Written& written, const std::string& page) {
  const StudySession::Count count = session.count();
  nlohmann::ordered_json out = {{"runs", count.runs}, {"recorded", count.recorded}, {"done", count.done}, {"failed", count.failed}};
  out["tables"] = written.tables;
  out["figures"] = written.figures;
  out["report"] = page;
  out["verdicts"] = nlohmann::ordered_json::array();
  for (const StudyResults& results : session.results())
    for (const Verdict& verdict : verdicts_of(results))
      out["verdicts"].push_back({{"study", results.study.name},
                                 {"claim", verdict.claim.text},
                                 {"verdict", outcome_text(verdict.outcome)},
                                 {"numbers", verdict_numbers(verdict)}});
  return out;
}

void print_results(const StudySession& session, const std::string& directory) {
  for (const StudyResults& results : session.results()) {
    fmt::print("\n# {}\n", results.study.title);
    if (!results.secure && !results.runs.empty()) fmt::print("Fixed seeds: repeatable to the bit, NOT PRIVATE.\n");
    if (results.quick) fmt::print("Quick: fewer seeds and less training than the study asks for.\n");
    for (const TableSpec& spec : results.study.tables) fmt::print("\n{}\n\n{}", spec.title, table_markdown(make_table(spec, results)));
    for (const Verdict& verdict : verdicts_of(results))
      print_text(fmt::format("\n{}: {}\n  {}\n", outcome_text(verdict.outcome), verdict.claim.text, verdict_numbers(verdict)));
  }
  print_text(fmt::format("\nIn {}: records.jsonl, tables, figures, report.html\n", directory));
}

int run_studies(const std::vector<std::filesystem::path>& files, StudyOptions options, const Flags& flags, const std::string& name) {
  if (!options.out) options.out = "runs/" + name + (options.quick ? "-quick" : "");
  StudySession session(files, options, flags.quiet());
  if (options.dry_run) {
    const StudySession::Count count = session.count();
    if (flags.json())
      print_json({{"runs", count.runs}, {"recorded", count.recorded}, {"seconds", count.seconds}});
    else
      print_text(session.plan_text());
    return 0;
  }
  const bool whole = session.run();
  const std::vector<StudyResults> results = session.results();
  const Written written = write_tables_and_figures(*options.out, results);
  std::vector<nlohmann::ordered_json> sections;
  for (const StudyResults& one : results) sections.push_back(study_section(one));
  for (const StudyResults& one : read_results(*options.out, session.records()))  // that were run into this directory before
    if (std::ranges::none_of(results, [&](const StudyResults& own) { return own.study.name == one.study.name; }))
      sections.push_back(study_section(one));
  const std::string page = (std::filesystem::path(*options.out) / "report.html").string();
  write_page("fodp: " + name, sections, page);
  if (flags.json())
    print_json(result_json(session, written, page));
  else
    print_results(session, *options.out);
  const StudySession::Count count = session.count();
  if (!whole) {
    note(fmt::format("fodp: stopped; {} of {} runs are recorded, and the same command goes on from there\n", count.recorded, count.runs));
    return kInterruptedStatus;
  }
  if (count.failed > 0) note(fmt::format("fodp: {} runs failed; the same command tries them again\n", count.failed));
  return count.failed > 0 ? 1 : 0;
}

// The shipped studies, in the order of their names.
std::vector<std::filesystem::path> shipped_studies() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(shared_file("experiments")))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::ranges::sort(files, {}, [](const auto& file) {  // figure2 before figure10
    std::string name = file.stem().string();
    const std::size_t digit = name.find_first_of("0123456789");
    return std::pair(name.substr(0, digit), digit == name.npos ? 0.0 : std::stod(name.substr(digit)));
  });
  return files;
}

std::int64_t runs_in(const Study& study) {
  if (!study.trains()) return 0;
  std::int64_t runs = static_cast<std::int64_t>(study.seeds.size());
  for (const Axis& axis : study.axes) runs *= static_cast<std::int64_t>(axis.values.size());
  return runs;
}

double minutes_of(const Study& study, std::int64_t jobs) {
  return static_cast<double>(runs_in(study)) * study.seconds_per_run.value_or(30) / 60 / static_cast<double>(study.jobs.value_or(jobs));
}

int list_shipped(const Flags& flags, std::int64_t jobs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  for (const std::filesystem::path& file : shipped_studies()) {
    const Study study = read_study(file);
    const double minutes = minutes_of(study, jobs);
    list.push_back({{"name", study.name}, {"shows", study.shows}, {"runs", runs_in(study)}, {"minutes", minutes}});
    text += fmt::format("  {:<19}  {}; {} runs, about {}\n", study.name, study.shows, runs_in(study), duration_text(60 * minutes));
  }
  if (flags.json()) return print_json({{"studies", list}}), 0;
  print_text("Studies that come with fodp (fodp reproduce NAME --data-dir DIR):\n" + text);
  return 0;
}

std::vector<std::filesystem::path> files_named(const std::vector<std::string>& names) {
  const std::vector<std::filesystem::path> all = shipped_studies();
  std::vector<std::string> known;
  for (const std::filesystem::path& file : all) known.push_back(file.stem().string());
  if (std::ranges::count(names, "all") > 0) return all;
  std::vector<std::filesystem::path> files;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(known, name);
    check_input(at != known.end(), "there is no shipped study '{}': {}", name, suggestion(name, {known.begin(), known.end()}));
    check_input(std::ranges::count(files, all[static_cast<std::size_t>(at - known.begin())]) == 0, "'{}' is named twice", name);
    files.push_back(all[static_cast<std::size_t>(at - known.begin())]);
  }
  return files;
}

}  // namespace

int study(const Words& words) {
  std::string file;
  StudyOptions options;
  Flags flags("study",
              "Runs the trainings that a TOML file describes, several at a time, and makes tables, figures and a page of them. What is "
              "recorded is not repeated, so that a study that was stopped goes on. docs/studies.md explains the file.",
              "fodp study own.toml --out runs/own");
  flags.add_positional("FILE.toml", "the study", file);
  flags.add("Study", options);
  if (!flags.parse(words)) return 0;
  check_input(!file.empty(), "give the study's file; for example: fodp study own.toml --out runs/own");
  return run_studies({file}, options, flags, std::filesystem::path(file).stem().string());
}

int reproduce(const Words& words) {
  std::vector<std::string> names;
  StudyOptions options;
  Flags flags("reproduce",
              "Runs studies that come with fodp: the experiments of the papers on FO-DP-SGD and SMA-DP-SGD, and our own. `fodp reproduce "
              "list` shows them; `all` runs all. Each ends with tables, figures, and a verdict on every claim.",
              "fodp reproduce table3 --data-dir ~/datasets --out runs/table3");
  flags.add_positional("NAME", "studies, `all`, or `list`", names);
  flags.add("Study", options);
  if (!flags.parse(words)) return 0;
  check_input(!names.empty(), "name a study; `fodp reproduce list` shows them");
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  if (names.front() == "list") return list_shipped(flags, options.jobs.value_or(cores));
  return run_studies(files_named(names), options, flags, names.size() == 1 ? names.front() : "reproduce");
}

}  // namespace fodp::app
