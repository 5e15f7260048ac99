#include "run_events.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "fodp/accounting/events_json.h"

namespace fodp::app {
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
        target = FieldText<std::remove_cvref_t<decltype(target)>>::parse(number.dump(), where + ": " + key, field.range);
    });
  }
  for (const char* name : {"sample_rate", "noise_multiplier", "steps"}) check_input(entry.contains(name), "{}: {} is missing", where, name);
  return options.event();
}

nlohmann::json read_json(const std::filesystem::path& file, const std::string& where) {
  std::ifstream stream(file);
  check_input(stream.good() && std::filesystem::is_regular_file(file), "{}: not a file that can be read", where);
  try {
    return nlohmann::json::parse(stream);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: not JSON: {}", where, error.what()));
  }
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
  RunFile run{.events = events_from_json(summary["event"], where + ": event"), .delta = delta.get<double>()};
  if (std::ranges::any_of(summary["event"], [](const nlohmann::json& entry) { return !entry.contains("slack"); }))
    run.warnings.push_back("slack is missing: exact arithmetic is assumed, and what finite precision costs is left out");
  if (summary.contains("insecure"))
    for (const nlohmann::json& why : summary["insecure"])
      if (why.is_string()) run.warnings.push_back("this run was not private: " + why.get<std::string>());
  if (summary.contains("accountant")) {
    const nlohmann::json& name = summary["accountant"];
    check_input(name.is_string(), "{}: accountant is {}: must be a name", where, name.dump());
    run.accountant = FieldText<AccountantKind>::parse(name.get<std::string>(), where + ": accountant", {});
  }
  return run;
}

}  // namespace

Composed StepOptions::event() const { return {Event::poisson_gaussian(*sample_rate, *noise_multiplier / beta.value_or(1)), *steps}; }

RunFile read_run(const std::string& path) {
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(file)) {
    file /= "summary.json";
    check_input(std::filesystem::exists(file), "--events {}: a directory without a summary.json: not a run, or not a finished one", path);
  }
  const std::string where = "--events " + file.string();
  nlohmann::json json = read_json(file, where);
  RunFile run = json.is_object() ? run_of_summary(std::move(json), where) : RunFile{.events = events_of_list(json, where)};
  double steps = 0;
  for (const Composed& part : run.events) steps += static_cast<double>(part.count);
  check_input(steps > 0, "{}: no step: expected a run with at least one", where);
  check_input(steps <= 1e15, "{}: steps add up to {}: must be at most 1e15", where, steps);
  return run;
}

}  // namespace fodp::app
