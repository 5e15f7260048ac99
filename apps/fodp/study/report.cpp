#include "study/report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/ranges.h>

#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "fodp/base/json_text.h"
#include "study/figure.h"
#include "study/gnuplot.h"
#include "study/table.h"
#include "study/verdict.h"

namespace fodp::app {
namespace {

using Json = nlohmann::ordered_json;

Json pair(std::string name, std::string text) { return Json::array({std::move(name), std::move(text)}); }

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump(); }

std::string file_text(const std::filesystem::path& file) { return read_text_file(file, file.string()); }

std::string joined(const std::set<std::string>& texts, const char* between) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : between) + text;
  return out;
}

std::string place_text(const Place& place) {
  std::string text;
  for (const auto& [axis, label] : place) text += (text.empty() ? "" : ", ") + label;
  return text;
}

// Which programs, machines and data the records are of. More than one of a kind is said, not hidden.
Json record_facts(const StudyResults& results) {
  std::set<std::string> data, versions, machines;
  for (const RunResult& run : results.runs) {
    if (!run.done()) continue;
    const Record& record = *run.record;
    const Record fingerprint = record.value("data_fingerprint", Record());
    data.insert(record.value("data", "") + (fingerprint.is_string() ? ", SHA-256 " + fingerprint.get<std::string>() : ""));
    const Record version = record.value("versions", Record::object());
    versions.insert(fmt::format("fodp {}, commit {}, libtorch {}", version.value("fodp", "?"), version.value("commit", "?"),
                                version.value("libtorch", "?")));
    machines.insert(record.value("machine", "?"));
  }
  Json facts = Json::array();
  facts.push_back(pair("Data", joined(data, "; ")));
  facts.push_back(pair(versions.size() > 1 ? "Made by, MIXED" : "Made by", joined(versions, "; ")));
  facts.push_back(pair("Machine", joined(machines, "; ")));
  return facts;
}

// Why what the page shows is not private, and what else a reader must not overlook.
Json study_warnings(const StudyResults& results) {
  std::set<std::string> reasons;
  for (const RunResult& run : results.runs)
    if (run.done())
      for (const Json& reason : run.record->value("insecure", Json::array())) reasons.insert(text_of(reason));
  Json warnings = Json::array();
  if (reasons.empty() && !results.secure && !results.runs.empty()) reasons.insert("fixed seeds");
  if (results.study.tuning && !results.choices.empty())
    reasons.insert("--" + results.study.tuning->option + " was chosen by results on training rows");
  if (!reasons.empty()) warnings.push_back("NOT PRIVATE: " + joined(reasons, "; ") + ". For public data only.");
  if (const auto held_out = results.study.base.find("insecure-validation"); held_out != results.study.base.end())
    warnings.push_back(fmt::format("Accuracies are of {} training rows that were held out, not of the test set.", held_out->second));
  if (results.quick) warnings.push_back("Quick: fewer seeds and less training than the study asks for. Numbers are not its result.");
  return warnings;
}

// The first runs that failed, and why.
std::string failures(const StudyResults& results) {
  constexpr int kShown = 5;
  std::string text;
  int count = 0;
  for (const RunResult& run : results.runs) {
    if (!run.record || run.done()) continue;
    if (++count > kShown) continue;
    text += fmt::format("{}{}, seed {}: {}", text.empty() ? "" : "; ", place_text(run.place), run.seed, run.record->value("error", "?"));
  }
  return count > kShown ? text + fmt::format("; and {} more", count - kShown) : text;
}

Json study_facts(const StudyResults& results) {
  const auto done = std::ranges::count_if(results.runs, [](const RunResult& run) { return run.done(); });
  const auto failed = std::ranges::count_if(results.runs, [](const RunResult& run) { return run.record && !run.done(); });
  Json facts = Json::array();
  if (results.runs.empty()) return facts;  // all of it follows from formulas
  facts.push_back(pair(
      "Runs", fmt::format("{} done, {} failed, {} missing", done, failed, static_cast<std::int64_t>(results.runs.size()) - done - failed)));
  if (failed > 0) facts.push_back(pair("Failed", failures(results)));
  std::set<std::int64_t> seeds(results.study.seeds.begin(), results.study.seeds.end());
  facts.push_back(pair("Seeds", fmt::format("{}", fmt::join(seeds, ", "))));
  if (results.quick) facts.push_back(pair("Quick", "fewer seeds and less training than the study asks for: numbers are not its result"));
  if (results.other_records > 0)
    facts.push_back(
        pair("Not used", fmt::format("{} records of other options, other data or another version of fodp", results.other_records)));
  facts.push_back(pair(
      "Noise", results.secure ? "drawn from the system's secure source" : "from fixed seeds: can be repeated to the bit, NOT PRIVATE"));
  for (const Json& fact : record_facts(results)) facts.push_back(fact);
  return facts;
}

// What tuning tried and chose.
Json tuning_table(const StudyResults& results) {
  const Tuning& tuning = *results.study.tuning;
  Json table = {{"name", "tuned"}, {"title", "Chosen " + tuning.option}};
  table["note"] = fmt::format(
      "By mean accuracy on {} training rows held out from training, {} seed{}; every choice was made from {} values. The test set was not "
      "used.",
      tuning.validation, tuning.seeds.size(), tuning.seeds.size() == 1 ? "" : "s", tuning.grid.size());
  table["columns"] = Json::array(
      {{{"title", "for"}, {"number", false}}, {{"title", "chosen"}, {"number", true}}, {{"title", "tried: accuracy"}, {"number", false}}});
  table["rows"] = Json::array();
  for (const Choice& choice : results.choices) {
    std::string tried;
    for (const auto& [value, score] : choice.scores)
      tried += fmt::format("{}{}: {}", tried.empty() ? "" : ", ", value, std::isfinite(score) ? fmt::format("{:.4f}", score) : "failed");
    table["rows"].push_back({place_text(choice.place), choice.value + (choice.at_edge() ? " (edge of the grid)" : ""), tried});
  }
  return table;
}

Json run_settings(const Json& config) {
  Json settings = Json::array();
  for (const auto& [name, value] : config.items())
    if (name != "derived" && name != "filled" && name != "started_in" && !value.is_null()) settings.push_back(pair(name, text_of(value)));
  return settings;
}

// As the privacy statement has it: six digits, never below the true number.
std::string rounded_up(const Json& epsilon) {
  if (!epsilon.is_number()) return text_of(epsilon);
  const double value = epsilon.get<double>();
  const double unit = std::pow(10.0, std::floor(std::log10(std::max(value, 1e-9))) - 5);
  return fmt::format("{:.6g}", std::ceil(value / unit * (1 - 1e-12)) * unit);
}

std::string share_text(const Json& value, const std::string& metric) {
  if (!value.is_number()) return text_of(value);
  return metric == "accuracy" ? fmt::format("{:.2f}%", 100 * value.get<double>()) : fmt::format("{:.4f}", value.get<double>());
}

// Accuracy (or whatever the run measures) over epochs and over epsilon.
Json run_figure(const std::vector<Json>& metrics, const std::string& metric) {
  Figure figure{.name = "test",
                .title = "Test " + metric,
                .note = "epsilon is that of the steps so far; what the run guarantees is the epsilon of its whole plan",
                .x = {{"epoch", "epochs"}, {"epsilon", "epsilon spent"}},
                .y_label = "test " + metric,
                .panels = {{.title = "", .series = {{.name = "test " + metric, .points = {}}}}}};
  for (const Json& line : metrics) {
    const auto number = [&](const std::string& name) {
      const auto value = line.find(name);
      return value != line.end() && value->is_number() ? value->get<double>() : NAN;
    };
    figure.panels.front().series.front().points.push_back(
        {.x = {number("epoch"), number("epsilon")}, .y = {.n = 1, .mean = number("test_" + metric)}});
  }
  return figure_json(figure);
}

std::vector<Json> read_lines(const std::filesystem::path& file) {
  std::vector<Json> lines;
  std::istringstream stream(file_text(file));
  for (std::string line; std::getline(stream, line);) {
    Json json = Json::parse(line, nullptr, false);
    check_input(json.is_object(), "{}: line {} is not JSON", file.string(), lines.size() + 1);
    lines.push_back(std::move(json));
  }
  return lines;
}

}  // namespace

Written write_tables_and_figures(const std::filesystem::path& directory, const std::vector<StudyResults>& all) {
  Written written;
  std::filesystem::create_directories(directory / "tables");
  std::filesystem::create_directories(directory / "figures");
  for (const StudyResults& results : all) {
    for (const TableSpec& spec : results.study.tables) {
      const Table table = make_table(spec, results);
      write_file_atomically(directory / "tables" / (spec.name + ".csv"), table_csv(table), "table");
      const std::string quick = results.quick ? "\nQuick: fewer seeds and less training than the study asks for.\n" : "";
      write_file_atomically(directory / "tables" / (spec.name + ".md"), table_markdown(table) + quick, "table");
      written.tables.push_back(spec.name);
    }
    for (const FigureSpec& spec : results.study.figures) {
      write_svg(make_figure(spec, results), directory / "figures" / (spec.name + ".svg"));
      written.figures.push_back(spec.name);
    }
  }
  return written;
}

std::string study_markdown(const StudyResults& results, const std::string& figures) {
  const Study& study = results.study;
  std::string text = fmt::format("## {}\n\n", study.title);
  if (!study.asks.empty()) text += fmt::format("{}\n\n", study.asks);
  if (!study.source.empty()) text += fmt::format("Source: {}. ", study.source);
  text += fmt::format("To repeat it: `fodp reproduce {} --data-dir DIR`.\n", study.name);
  const std::vector<Verdict> verdicts = verdicts_of(results);
  if (!verdicts.empty()) text += "\n| claim | verdict | in our runs |\n|---|---|---|\n";
  for (const Verdict& verdict : verdicts)
    text += fmt::format("| {} | **{}** | {} |\n", verdict.claim.text, outcome_text(verdict.outcome), verdict_numbers(verdict));
  for (const TableSpec& spec : study.tables) {
    text += fmt::format("\n### {}\n\n", spec.title);
    if (!spec.note.empty()) text += spec.note + "\n\n";
    text += table_markdown(make_table(spec, results));
  }
  for (const FigureSpec& spec : study.figures) text += fmt::format("\n![{}]({}/{}.svg)\n", spec.title, figures, spec.name);
  if (study.tuning && !results.choices.empty()) {
    text += fmt::format("\nTuned {}:", study.tuning->option);
    for (const Choice& choice : results.choices)
      text += fmt::format(" {} {}{};", place_text(choice.place), choice.value, choice.at_edge() ? " (edge of the grid)" : "");
    text.back() = '.';
    text += "\n";
  }
  std::string facts;
  for (const Json& fact : study_facts(results))
    facts += fmt::format("{}{}: {}.", facts.empty() ? "\n" : " ", text_of(fact[0]), text_of(fact[1]));
  return text + facts + "\n";
}

Json study_section(const StudyResults& results) {
  const Study& study = results.study;
  Json section = {{"kind", "study"},
                  {"name", study.name},
                  {"title", study.title},
                  {"asked", study.asks.empty() ? study.shows : study.asks},
                  {"source", study.source}};
  section["verdicts"] = Json::array();
  for (const Verdict& verdict : verdicts_of(results))
    section["verdicts"].push_back({{"claim", verdict.claim.text},
                                   {"source", verdict.claim.source},
                                   {"verdict", outcome_text(verdict.outcome)},
                                   {"numbers", verdict_numbers(verdict)}});
  section["tables"] = Json::array();
  for (const TableSpec& spec : study.tables) section["tables"].push_back(table_json(make_table(spec, results)));
  if (study.tuning && !results.choices.empty()) section["tables"].push_back(tuning_table(results));
  section["figures"] = Json::array();
  for (const FigureSpec& spec : study.figures)
    if (const Figure figure = make_figure(spec, results); !figure.panels.empty()) section["figures"].push_back(figure_json(figure));
  section["warnings"] = study_warnings(results);
  section["facts"] = study_facts(results);
  section["file"] = file_text(study.file);
  section["settings"] = Json::array();
  for (const auto& [name, text] : study.base) section["settings"].push_back(pair(name, text));
  section["repeat"] = fmt::format("fodp study {} --out DIR", study.file.filename().string());
  return section;
}

Json run_section(const std::filesystem::path& directory) {
  for (const char* name : {"summary.json", "config.json", "metrics.jsonl", "statement.txt"})
    check_input(std::filesystem::exists(directory / name), "{}: neither the directory of a study nor of a finished run: it has no {}",
                directory.string(), name);
  const Json summary(parse_json(file_text(directory / "summary.json"), (directory / "summary.json").string()));
  const Json config = Json::parse(file_text(directory / "config.json"), nullptr, false);
  check_input(summary.is_object() && config.is_object(), "{}: its summary or its config is damaged", directory.string());
  const std::string metric = summary.contains("test_accuracy") ? "accuracy" : "r2";
  const auto text = [&](const char* name) { return summary.contains(name) ? text_of(summary[name]) : ""; };
  Json section = {{"kind", "run"}, {"name", directory.string()}, {"title", text("method") + " on " + text("data")}};
  section["headline"] = Json::array({pair("Epsilon", rounded_up(summary.value("epsilon", Json()))), pair("Delta", text("delta")),
                                     pair("Test " + metric, share_text(summary.value("test_" + metric, Json()), metric)),
                                     pair("Private", summary.value("private", false) ? "yes" : "NO")});
  section["warnings"] = summary.value("warnings", Json::array());
  for (const Json& reason : summary.value("insecure", Json::array())) section["warnings"].push_back("NOT PRIVATE: " + text_of(reason));
  section["statement"] = file_text(directory / "statement.txt");
  section["verdicts"] = section["tables"] = Json::array();
  section["figures"] = Json::array({run_figure(read_lines(directory / "metrics.jsonl"), metric)});
  section["facts"] = Json::array({pair("Date", text("date")), pair("Data", text("data")), pair("Model file", text("model_sha256"))});
  section["settings"] = run_settings(config);
  section["repeat"] = fmt::format("fodp verify {0}\nfodp train --config {0}/config.json", directory.string());
  return section;
}

}  // namespace fodp::app
