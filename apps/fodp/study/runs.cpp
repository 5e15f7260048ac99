#include "study/study.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

#include "alternatives.h"

namespace fodp::app {
namespace {

// All combinations of the labels of these axes, the last axis varying fastest.
std::vector<Place> combinations(const std::vector<const Axis*>& axes) {
  std::vector<Place> places = {{}};
  for (const Axis* axis : axes) {
    std::vector<Place> longer;
    for (const Place& place : places)
      for (const AxisValue& value : axis->values) {
        Place one = place;
        one[axis->name] = value.label;
        longer.push_back(std::move(one));
      }
    places = std::move(longer);
  }
  return places;
}

Options options_at(const Study& study, const Place& place) {
  Options options = study.base;
  for (const Axis& axis : study.axes) {
    const std::string& label = place.at(axis.name);
    const auto value = std::ranges::find(axis.values, label, &AxisValue::label);
    for (const auto& [name, text] : value->options) {
      displace(options, name);
      options[name] = text;
    }
  }
  return options;
}

StudyRun run_at(const Study& study, const Place& place, std::int64_t seed, bool secure) {
  StudyRun run{.place = place, .seed = seed, .options = options_at(study, place), .trying = {}};
  run.options["init-seed"] = std::to_string(seed);
  if (!secure) run.options["insecure-seed"] = std::to_string(seed);
  return run;
}

}  // namespace

std::optional<double> as_number(const std::string& label) {
  double value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  return error == std::errc() && end == label.data() + label.size() ? std::optional(value) : std::nullopt;
}

std::string line_name(const std::vector<std::string>& labels) { return fmt::format("{}", fmt::join(labels, ", ")); }

std::vector<std::string> line_names(const Study& study, const std::vector<std::string>& rows) {
  std::vector<const Axis*> axes;
  for (const std::string& axis : rows) axes.push_back(&study.axis(axis));
  std::vector<std::string> names;
  for (const Place& place : combinations(axes)) {
    std::vector<std::string> labels;
    for (const std::string& axis : rows) labels.push_back(place.at(axis));
    names.push_back(line_name(labels));
  }
  return names;
}

bool same_thing(const std::string& one, const std::string& other) {
  return one == other || std::ranges::any_of(kAlternatives, [&](const auto& pair) {
           return (one == pair.first && other == pair.second) || (one == pair.second && other == pair.first);
         });
}

void displace(Options& options, const std::string& by) {
  for (const auto& [one, other] : kAlternatives) {
    if (by == one) options.erase(std::string(other));
    if (by == other) options.erase(std::string(one));
  }
}

const Axis& Study::axis(std::string_view axis_name) const { return *std::ranges::find(axes, axis_name, &Axis::name); }

bool Study::trains() const {
  return !axes.empty() || !tables.empty() || !claims.empty() || figures.empty() ||
         std::ranges::any_of(figures, [](const FigureSpec& figure) { return figure.kind != FigureKind::kernel; });
}

std::vector<StudyRun> runs_of(const Study& study, bool secure, const TunedValues& tuned) {
  if (!study.trains()) return {};
  std::vector<const Axis*> axes;
  for (const Axis& axis : study.axes) axes.push_back(&axis);
  const std::vector<Place> places = combinations(axes);
  std::vector<StudyRun> runs;
  for (const std::int64_t seed : study.seeds)
    for (const Place& place : places) {
      StudyRun run = run_at(study, place, seed, secure);
      if (study.tuning)
        if (const auto value = tuned.find(tuning_place(study, place)); value != tuned.end())
          run.options[study.tuning->option] = value->second;
      runs.push_back(std::move(run));
    }
  return runs;
}

Place tuning_place(const Study& study, const Place& place) {
  Place part;
  for (const std::string& name : study.tuning->by) part[name] = place.at(name);
  return part;
}

std::vector<Place> tuning_places(const Study& study) {
  if (!study.tuning) return {};
  std::vector<const Axis*> axes;
  for (const std::string& name : study.tuning->by) axes.push_back(&study.axis(name));
  return combinations(axes);
}

std::vector<StudyRun> tuning_runs(const Study& study, const Place& part, bool secure) {
  const Tuning& tuning = *study.tuning;
  Place place = part;
  for (const auto& item : tuning.where) place.insert(item);
  for (const Axis& axis : study.axes) place.try_emplace(axis.name, axis.values.front().label);
  const auto own = tuning.by.empty() ? tuning.grids.end() : tuning.grids.find(part.at(tuning.by.front()));
  std::vector<StudyRun> runs;
  for (const std::int64_t seed : tuning.seeds)
    for (const std::string& value : own == tuning.grids.end() ? tuning.grid : own->second) {
      StudyRun run = run_at(study, place, seed, secure);
      run.options[tuning.option] = value;
      run.options["insecure-validation"] = std::to_string(tuning.validation);
      run.trying = value;
      runs.push_back(std::move(run));
    }
  return runs;
}

}  // namespace fodp::app
