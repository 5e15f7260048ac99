#include "fodp/accounting/spending_json.h"

#include <algorithm>

#include "fodp/accounting/events_json.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

nlohmann::ordered_json name_json(const std::string& run) { return run.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(run); }

std::string run_of(const nlohmann::json& object, const std::string& where) {
  if (!object.contains("run") || object["run"].is_null()) return "";
  const nlohmann::json& run = object["run"];
  const bool holds = run.is_string() && !run.get_ref<const std::string&>().empty();
  check_input(holds, "{}: run is {}: must be the identity of a run, or null", where, run.dump());
  return run.get<std::string>();
}

std::vector<std::string> insecure_of(const nlohmann::json& object, const std::string& where) {
  std::vector<std::string> reasons;
  if (object.contains("insecure")) {
    const nlohmann::json& list = object["insecure"];
    const bool texts = list.is_array() && std::ranges::all_of(list, [](const nlohmann::json& reason) { return reason.is_string(); });
    check_input(texts, "{}: insecure: expected a list of texts", where);
    list.get_to(reasons);
  }
  if (reasons.empty() && object.contains("private") && object["private"] == false) reasons.emplace_back("it does not say why");
  return reasons;
}

// Files of before runs named their unit are of runs that protect rows. Runs count together only for one unit, so that earlier ones have
// that of the run that counts them.
std::string unit_of(const nlohmann::json& object, const std::string& where, const std::string& otherwise = "row") {
  if (!object.contains("unit")) return otherwise;
  check_input(object["unit"].is_string(), "{}: unit is {}: must be a name", where, object["unit"].dump());
  return object["unit"].get<std::string>();
}

std::vector<Spending> earlier_of(const nlohmann::json& object, const std::string& where) {
  std::vector<Spending> runs;
  if (!object.contains("earlier")) return runs;
  const nlohmann::json& list = object["earlier"];
  check_input(list.is_array(), "{}: earlier: expected a list of runs", where);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = fmt::format("{}: earlier: entry {}", where, i + 1);
    check_input(list[i].is_object() && list[i].contains("events"), "{}: events is missing", here);
    runs.push_back({.events = events_from_json(list[i]["events"], here + ": events"),
                    .run = run_of(list[i], here),
                    .unit = unit_of(list[i], here, unit_of(object, where))});
  }
  return runs;
}

}  // namespace

void add_spending(nlohmann::ordered_json& out, const std::vector<Spending>& earlier, const Spending& own) {
  out["run"] = name_json(own.run);
  out["insecure"] = own.insecure;
  if (!own.unit.empty()) out["unit"] = own.unit;
  if (earlier.empty()) return;
  out["earlier"] = nlohmann::ordered_json::array();
  for (const Spending& run : earlier) out["earlier"].push_back({{"run", name_json(run.run)}, {"events", events_to_json(run.events)}});
  out["own_events"] = events_to_json(own.events);
}

std::vector<Spending> spending_from_json(const nlohmann::json& object, const std::string& total, const std::string& where) {
  check_input(object.is_object() && object.contains(total), "{}: {} is missing", where, total);
  std::vector<Spending> runs = earlier_of(object, where);
  const std::string own = runs.empty() ? total : "own_events";
  check_input(object.contains(own), "{}: {} is missing: earlier says that it is not all of {}", where, own, total);
  runs.push_back({.events = events_from_json(object[own], where + ": " + own),
                  .run = run_of(object, where),
                  .insecure = insecure_of(object, where),
                  .unit = unit_of(object, where)});
  return runs;
}

}  // namespace fodp
