#include "fodp/accounting/events_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "fodp/base/check.h"
#include "fodp/base/fields.h"

namespace fodp {
namespace {

constexpr const char* kGaussian = "gaussian";
constexpr const char* kPoissonGaussian = "poisson_gaussian";
const std::vector<std::string_view> kFields = {"kind", "sample_rate", "effective_noise_multiplier", "count", "slack"};

double number_field(const nlohmann::json& entry, const char* name, const std::string& where) {
  const nlohmann::json& value = entry.at(name);
  if (value == "inf") return std::numeric_limits<double>::infinity();
  check_input(value.is_number(), "{}: {} is {}: must be a number", where, name, value.dump());
  return value.get<double>();
}

std::int64_t count_field(const nlohmann::json& entry, const std::string& where) {
  constexpr std::int64_t kMost = 1'000'000'000'000'000;  // doubles count up to here
  const nlohmann::json& value = entry.at("count");
  const bool holds = value.is_number_integer() && value >= 0 && value <= kMost;
  check_input(holds, "{}: count is {}: must be a whole number from 0 to {}", where, value.dump(), kMost);
  return value.get<std::int64_t>();
}

Event event_of(const nlohmann::json& entry, const std::string& where) {
  const nlohmann::json& kind = entry.at("kind");
  check_input(kind == kGaussian || kind == kPoissonGaussian, "{}: kind is {}: must be \"{}\" or \"{}\"", where, kind.dump(), kGaussian,
              kPoissonGaussian);
  const double rate = number_field(entry, "sample_rate", where), noise = number_field(entry, "effective_noise_multiplier", where);
  const double slack = entry.contains("slack") ? number_field(entry, "slack", where) : 0;
  check_input(kind != kGaussian || rate == 1, "{}: sample_rate is {}: must be 1 for a {} event", where, rate, kGaussian);
  try {
    return Event::poisson_gaussian(rate, noise, slack);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
}

Composed composed_of(const nlohmann::json& entry, const std::string& where) {
  check_input(entry.is_object(), "{}: expected an object", where);
  for (const auto& [name, value] : entry.items())
    check_input(std::find(kFields.begin(), kFields.end(), name) != kFields.end(), "{}: '{}' is not known: {}", where, name,
                suggestion(name, kFields));
  for (const std::string_view name : kFields) check_input(name == "slack" || entry.contains(name), "{}: {} is missing", where, name);
  return {event_of(entry, where), count_field(entry, where)};
}

}  // namespace

nlohmann::ordered_json events_to_json(const Events& events) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Event::Kind kind : {Event::Kind::poisson_gaussian, Event::Kind::gaussian})
    for (const auto& [event, count] : events) {
      if (event.kind != kind) continue;
      const double noise = event.noise_multiplier;
      list.push_back({{"kind", event.kind_name()},
                      {"sample_rate", event.sample_rate},
                      {"effective_noise_multiplier", std::isinf(noise) ? nlohmann::ordered_json("inf") : nlohmann::ordered_json(noise)},
                      {"count", count},
                      {"slack", event.slack}});
    }
  return list;
}

Events events_from_json(const nlohmann::json& list, std::string_view where) {
  check_input(list.is_array(), "{}: expected a list of events", where);
  Events events;
  for (std::size_t i = 0; i < list.size(); ++i) events.push_back(composed_of(list[i], fmt::format("{}: entry {}", where, i + 1)));
  return events;
}

}  // namespace fodp
