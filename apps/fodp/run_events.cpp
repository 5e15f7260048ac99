#include "run_events.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

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

}  // namespace

Composed StepOptions::event() const { return {Event::poisson_gaussian(*sample_rate, *noise_multiplier / beta.value_or(1)), *steps}; }

Events read_events(const std::string& file) {
  std::ifstream stream(file);
  check_input(stream.good() && std::filesystem::is_regular_file(file), "--events {}: not a file that can be read", file);
  nlohmann::json list;
  try {
    list = nlohmann::json::parse(stream);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("--events {}: not JSON: {}", file, error.what()));
  }
  check_input(list.is_array() && !list.empty(), "--events {}: expected a list with at least one entry", file);
  Events events;
  double steps = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    events.push_back(read_entry(list[i], fmt::format("--events {}: entry {}", file, i + 1)));
    steps += static_cast<double>(events.back().count);
    check_input(steps <= 1e15, "--events {}: entry {}: steps add up to {}: must be at most 1e15", file, i + 1, steps);
  }
  return events;
}

}  // namespace fodp::app
