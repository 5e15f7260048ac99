#include "fodp/accounting/run_file.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "fodp/accounting/events_json.h"
#include "fodp/accounting/ledger_file.h"
#include "fodp/accounting/merged_events.h"
#include "fodp/accounting/spending_json.h"
#include "fodp/base/check.h"
#include "fodp/base/json_text.h"

namespace fodp {
namespace {

// An entry has the same fields, ranges and messages as the flags.
Composed read_entry(const nlohmann::json& entry, const std::string& where) {
  check_input(entry.is_object(), "{}: expected an object", where);
  StepOptions options;
  std::vector<std::string> known;
  for_each_field(options, [&](const auto& field, const auto&) { known.push_back(json_name(field.name)); });
  for (const auto& [name, value] : entry.items()) {
    check_input(std::find(known.begin(), known.end(), name) != known.end(), "{}: '{}' is not known: {}", where, name,
                suggestion(name, {known.begin(), known.end()}));
    check_input(value.is_number(), "{}: {} is {}: must be a number", where, name, value.dump());
    for_each_field(options, [&, &key = name, &number = value](const auto& field, auto& target) {
      if (json_name(field.name) == key)
        target = FieldText<std::remove_cvref_t<decltype(target)>>::parse(number.dump(), fmt::format("{}: {}", where, key), field.range);
    });
  }
  for (const char* name : {"sample_rate", "noise_multiplier", "steps"}) check_input(entry.contains(name), "{}: {} is missing", where, name);
  return options.event();
}

Events events_of_list(const nlohmann::json& list, const std::string& where) {
  check_input(list.is_array() && !list.empty(), "{}: expected a list with at least one entry, or the summary of a run", where);
  Events events;
  for (std::size_t i = 0; i < list.size(); ++i) events.push_back(read_entry(list[i], fmt::format("{}: entry {}", where, i + 1)));
  return events;
}

RunFile run_of_summary(nlohmann::json summary, const std::string& where) {
  for (const char* name : {"event", "delta"})
    check_input(summary.contains(name), "{}: {} is missing: expected the summary of a run, or a list of steps", where, name);
  const nlohmann::json& delta = summary["delta"];
  check_input(delta.is_number() && delta > 0 && delta < 1, "{}: delta is {}: must be in (0, 1)", where, delta.dump());
  // Summaries of before events had a slack of their own name the largest of the run: each event is charged that, and none too little.
  if (summary.contains("sensitivity_slack"))
    for (nlohmann::json& entry : summary["event"])
      if (entry.is_object() && !entry.contains("slack")) entry["slack"] = summary["sensitivity_slack"];
  RunFile run{.events = events_from_json(summary["event"], where + ": event"),
              .runs = spending_from_json(summary, "event", where),
              .delta = delta.get<double>()};
  if (std::ranges::any_of(summary["event"], [](const nlohmann::json& entry) { return !entry.contains("slack"); }))
    run.warnings.push_back("slack is missing: exact arithmetic is assumed, and what finite precision costs is left out");
  for (const std::string& why : run.runs.back().insecure) run.warnings.push_back("this run was not private: " + why);
  if (summary.contains("accountant")) {
    const nlohmann::json& name = summary["accountant"];
    check_input(name.is_string(), "{}: accountant is {}: must be a name", where, name.dump());
    run.accountant = FieldText<AccountantKind>::parse(name.get<std::string>(), where + ": accountant", {});
  }
  return run;
}

// A run that has not come to its end: what it may have cost is in its ledger.
RunFile run_of_ledger(const std::filesystem::path& file) {
  const LedgerContent content = read_ledger(file);
  const LedgerHeader& header = content.header;
  RunFile run{.events = content.guaranteed(), .runs = {}, .delta = header.delta, .accountant = header.accountant, .warnings = {}};
  if (!header.earlier.empty()) run.runs.push_back({.events = header.earlier, .unit = header.unit});
  run.runs.push_back(
      {.events = covering(content.planned, content.charged), .run = header.run, .insecure = header.insecure, .unit = header.unit});
  for (const std::string& why : header.insecure) run.warnings.push_back("this run was not private: " + why);
  return run;
}

}  // namespace

Composed StepOptions::event() const { return {Event::poisson_gaussian(*sample_rate, *noise_multiplier / beta.value_or(1)), *steps}; }

RunFile read_run_file(const std::string& path, std::string_view option) {
  std::filesystem::path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    if (!std::filesystem::exists(file / "summary.json", ignored) && std::filesystem::exists(file / "ledger", ignored))
      return run_of_ledger(file / "ledger");
    file /= "summary.json";
    check_input(std::filesystem::exists(file, ignored), "`{}` {}: a directory without summary.json and ledger: not a run", option, path);
  }
  const std::string where = fmt::format("`{}` {}", option, file.string());
  std::optional<LedgerContent> ledger;  // a damaged one is refused here
  if (file != path && std::filesystem::exists(file.parent_path() / "ledger", ignored)) ledger = read_ledger(file.parent_path() / "ledger");
  nlohmann::json json = parse_json(read_text_file(file, where), where);
  RunFile run;
  if (json.is_object()) {
    run = run_of_summary(std::move(json), where);
  } else {
    run.events = events_of_list(json, where);
    run.runs = {{.events = run.events}};
  }
  check_input(!ledger || total_count(without(ledger->guaranteed(), run.events)) == 0,
              "{}: the ledger beside it has charges that it does not list: what was spent is more than it says", where);
  double steps = 0;
  for (const Composed& part : run.events) steps += static_cast<double>(part.count);
  check_input(steps > 0, "{}: no step: expected a run with at least one", where);
  check_input(steps <= 1e15, "{}: steps add up to {}: must be at most 1e15", where, steps);
  return run;
}

}  // namespace fodp
