#include "fodp/accounting/events_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fodp/accounting/ramp.h"
#include "fodp/base/check.h"
#include "fodp/base/fields.h"

namespace fodp {
namespace {

const std::vector<std::string_view> kFields = {"kind", "sample_rate", "effective_noise_multiplier", "count", "slack"};

const std::vector<std::string_view> kRampFields = {"first", "last", "weight"};
constexpr std::size_t kFewestOfRamp = 32;        // fewer unlike events are listed one by one
constexpr std::int64_t kMostOfRamp = 1'000'000;  // steps: no plan has more that are unlike
constexpr std::size_t kMostOfList = 4'000'000;   // events

std::string known_only(const nlohmann::json& entry, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : entry.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fmt::format("'{}' is not known: {}", name, suggestion(name, known));
  return "";
}

double number_of(const nlohmann::json& value, std::string_view name, const std::string& where) {
  if (value == "inf") return std::numeric_limits<double>::infinity();
  check_input(value.is_number(), "{}: {} is {}: must be a number", where, name, value.dump());
  return value.get<double>();
}

Ramp ramp_of(const nlohmann::json& value, const std::string& name, const std::string& where) {
  if (!value.is_object()) {
    const double number = number_of(value, name, where);
    return {number, number};
  }
  const std::string problem = known_only(value, kRampFields);
  check_input(problem.empty(), "{}: {}: {}", where, name, problem);
  for (const char* end : {"first", "last"}) check_input(value.contains(end), "{}: {}: {} is missing", where, name, end);
  const auto part = [&](const char* of) { return number_of(value[of], name + "." + of, where); };
  const Ramp ramp{part("first"), part("last"), value.contains("weight") ? part("weight") : 1};
  check_input(std::isfinite(ramp.first) && std::isfinite(ramp.last), "{}: {}: first and last must be finite", where, name);
  check_input(ramp.weight > 0 && std::isfinite(ramp.weight), "{}: {}: weight is {}: must be above 0", where, name, ramp.weight);
  return ramp;
}

std::int64_t count_field(const nlohmann::json& entry, const std::string& where) {
  constexpr std::int64_t kMost = 1'000'000'000'000'000;  // doubles count up to here
  const nlohmann::json& value = entry.at("count");
  const bool holds = value.is_number_integer() && value >= 0 && value <= kMost;
  check_input(holds, "{}: count is {}: must be a whole number from 0 to {}", where, value.dump(), kMost);
  return value.get<std::int64_t>();
}

const EventKind& kind_of(const nlohmann::json& name, const std::string& where) {
  std::string known;
  for (const EventKind* kind : event_kinds()) {
    if (name == kind->name) return *kind;
    known += (known.empty() ? "\"" : " or \"") + std::string(kind->name) + "\"";
  }
  throw InputError(fmt::format("{}: kind is {}: must be {}", where, name.dump(), known));
}

void add_entry(const nlohmann::json& entry, const std::string& where, Events& events) {
  check_input(entry.is_object(), "{}: expected an object", where);
  const std::string problem = known_only(entry, kFields);
  check_input(problem.empty(), "{}: {}", where, problem);
  for (const std::string_view name : kFields) check_input(name == "slack" || entry.contains(name), "{}: {} is missing", where, name);
  const EventKind& kind = kind_of(entry.at("kind"), where);
  const Ramp rate = ramp_of(entry.at("sample_rate"), "sample_rate", where);
  const Ramp noise = ramp_of(entry.at("effective_noise_multiplier"), "effective_noise_multiplier", where);
  const double slack = entry.contains("slack") ? number_of(entry["slack"], "slack", where) : 0;
  const std::int64_t count = count_field(entry, where);
  const auto add = [&](double rate_now, double noise_now, std::int64_t times) {
    events.push_back({{&kind, rate_now, noise_now, slack}, times});
    events.back().event.for_accountant();  // checks it
  };
  try {
    if (rate.constant() && noise.constant()) {
      add(rate.first, noise.first, count);
      return;
    }
    check_input(count >= 2 && count <= kMostOfRamp, "count is {}: must be from 2 to {} where a number changes with the step", count,
                kMostOfRamp);
    check_input(events.size() + static_cast<std::size_t>(count) <= kMostOfList, "more than {} unlike steps in all entries together",
                kMostOfList);
    for (std::int64_t i = 0; i < count; ++i) add(rate.at(i, count), noise.at(i, count), 1);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
}

nlohmann::ordered_json ramp_json(const Ramp& ramp) {
  if (ramp.constant()) return std::isinf(ramp.first) ? nlohmann::ordered_json("inf") : nlohmann::ordered_json(ramp.first);
  nlohmann::ordered_json json = {{"first", ramp.first}, {"last", ramp.last}};
  if (ramp.weight != 1) json["weight"] = ramp.weight;
  return json;
}

nlohmann::ordered_json entry_json(const Event& event, const Ramp& rate, const Ramp& noise, std::int64_t count) {
  return {{"kind", event.kind->name},
          {"sample_rate", ramp_json(rate)},
          {"effective_noise_multiplier", ramp_json(noise)},
          {"count", count},
          {"slack", event.slack}};
}

struct Ramps {
  Ramp rate, noise;
};

// Of the first events of a list, each once and with one slack; nothing if no ramps give them.
std::optional<Ramps> ramps_through(std::span<const Composed> events) {
  std::vector<double> rates, noises;
  for (const auto& [event, count] : events) {
    if (count != 1 || event.slack != events.front().event.slack) return std::nullopt;
    rates.push_back(event.sample_rate), noises.push_back(event.noise_multiplier);
  }
  const std::optional<Ramp> rate = ramp_through(rates), noise = ramp_through(noises);
  return rate && noise ? std::optional(Ramps{*rate, *noise}) : std::nullopt;
}

// As many of the first events as one entry can hold.
std::size_t length_of_ramp(std::span<const Composed> events) {
  if (events.size() < kFewestOfRamp || !ramps_through(events.first(kFewestOfRamp))) return 1;
  std::size_t holds = kFewestOfRamp, fails = events.size() + 1;
  while (holds + 1 < fails) {
    const std::size_t length = std::min(events.size(), fails == events.size() + 1 ? 2 * holds : (holds + fails) / 2);
    (ramps_through(events.first(length)) ? holds : fails) = length;
    if (holds == events.size()) break;
  }
  return holds;
}

}  // namespace

nlohmann::ordered_json events_to_json(const Events& events) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const EventKind* kind : event_kinds()) {
    const Events alike = of_kind(events, *kind);
    std::size_t length = 0;
    for (std::span<const Composed> rest = alike; !rest.empty(); rest = rest.subspan(length)) {
      length = length_of_ramp(rest);
      const auto& [event, count] = rest.front();
      const Ramps ramps = length > 1 ? *ramps_through(rest.first(length))
                                     : Ramps{{event.sample_rate, event.sample_rate}, {event.noise_multiplier, event.noise_multiplier}};
      list.push_back(entry_json(event, ramps.rate, ramps.noise, length > 1 ? static_cast<std::int64_t>(length) : count));
    }
  }
  return list;
}

Events events_from_json(const nlohmann::json& list, std::string_view where) {
  check_input(list.is_array(), "{}: expected a list of events", where);
  Events events;
  for (std::size_t i = 0; i < list.size(); ++i) add_entry(list[i], fmt::format("{}: entry {}", where, i + 1), events);
  return events;
}

}  // namespace fodp
