#include "study_planner.h"

#include <algorithm>

#include "command.h"
#include "fodp/base/fields_json.h"
#include "fodp/base/sha256.h"
#include "fodp/base/version.h"
#include "fodp/data/own_data.h"
#include "fodp/training/plan.h"
#include "fodp/training/run_directory.h"
#include "train_flags.h"

namespace fodp::app {
namespace {

constexpr const char* kSeeds[] = {"init-seed", "insecure-seed"};

// Where a run is kept and how fast it is decide nothing.
bool decides(const std::string& name) {
  static const std::set<std::string> not_these = {
      "out", "save", "export", "resume", "checkpoint_every", "feature_cache", "dry_run", "threads", "data_dir", "derived", "filled"};
  return !not_these.contains(name);
}

std::set<std::string> switches() {
  std::set<std::string> names;
  TrainOptions options;
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields)
      if (field.is_switch) names.emplace(field.name);
  return names;
}

Words words_of(const Options& options, const std::optional<std::string>& data_dir) {
  static const std::set<std::string> is_switch = switches();
  Words words;
  for (const auto& [name, text] : options) {
    if (is_switch.contains(name)) {
      if (text == "true") words.push_back("--" + name);
    } else {
      words.push_back("--" + name + "=" + text);
    }
  }
  if (data_dir) words.push_back("--data-dir=" + *data_dir);
  return words;
}

// Whether the value followed from other options. A rate and steps that nobody gave decide as if they had been given.
bool follows(const Plan& plan, const std::string& name) {
  if (name == "sample_rate" && plan.rate_is_planned()) return false;
  if (name == "steps" && plan.steps_are_planned()) return false;
  return plan.derives(name);
}

// The options that differ from their defaults and did not follow from others: a new option of fodp's changes no key.
Record deciding_options(const Plan& plan, const Record& config) {
  TrainOptions options = plan.options();
  Record out;
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields) {
      const std::string name = json_name(field.name);
      if (decides(name) && !follows(plan, name) && field.value(view.options) != field.value(view.part->defaults.get()))
        out[name] = config[name];
    }
  return out;
}

std::set<std::string> options_read(const Plan& plan, const Options& given) {
  TrainOptions options = plan.options();
  std::set<std::string> read;
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields) {
      const std::string name(field.name);
      const bool of_stage = options.own.look(*view.part) == view.options;
      const bool idle = (of_stage && !plan.stages().reads(name)) || (name == "hidden" && options.model.model != ModelKind::mlp);
      if (given.contains(name) && !idle) read.insert(name);
    }
  return read;
}

// Multiplications of the forward and backward passes and of clipping, and the noise, at what one core does of them. Rough, and too little
// for convolutions.
double rough_seconds(const Plan& plan) {
  const double d = static_cast<double>(plan.parameters()), lot = plan.expected_lot().first();
  return 1 + static_cast<double>(plan.steps()) * (lot * d * 8 / 2e10 + d * 1.5e-8);
}

std::string run_text(const StudyRun& run) {
  std::string text;
  for (const auto& [axis, label] : run.place) text += (text.empty() ? "" : ", ") + axis + " " + label;
  return text.empty() ? "its run" : text;
}

}  // namespace

// The folder that was given, unless the data are found without it only, as an installed data set is.
std::optional<std::string> StudyPlanner::folder_of(const std::string& data) {
  const auto known = folders_.find(data);
  if (known != folders_.end()) return known->second;
  const bool elsewhere = data_dir_ && !sizes_from_headers({.data = data, .data_dir = data_dir_}) && sizes_from_headers({.data = data});
  return folders_[data] = elsewhere ? std::nullopt : data_dir_;
}

StudyPlanner::Fingerprints StudyPlanner::fingerprints(const std::string& data, bool dry_run) {
  const auto known = fingerprints_.find(data);
  if (known != fingerprints_.end()) return known->second;
  const DataOptions options{.data = data, .data_dir = folder_of(data)};
  if (dry_run && !sizes_from_headers(options)) return {};
  const Dataset all = load_dataset(options);
  const std::string test = Sha256().add(all.test.pixels()).add(all.test.labels()).text();
  return fingerprints_[data] = {all.fingerprint, test};
}

PlannedRun StudyPlanner::plan(const Study& study, const StudyRun& run, bool dry_run) {
  Options without_seeds = run.options;
  for (const char* seed : kSeeds)
    if (without_seeds.contains(seed)) without_seeds[seed] = "0";
  auto found = planned_.find(without_seeds);
  if (found == planned_.end()) try {
      const auto data = without_seeds.find("data");
      check_input(
          data == without_seeds.end() || find_data_kind(data->second) == nullptr,
          "data is '{}': a study trains on the data sets that fodp knows by name (`fodp data` lists them), not on data of one's own",
          data == without_seeds.end() ? "" : data->second);
      TrainFlags line("train", "", "");
      line.flags.parse(words_of(without_seeds, {}));
      line.fill_feature_defaults(/*tell=*/false);
      line.options.data.data_dir = folder_of(line.options.data.data);
      const Plan plan = make_plan(line.options, announced_sizes(line.options.data));
      PlannedRun planned{.run = run, .config = config_json(plan)};
      Record options = deciding_options(plan, planned.config);
      const Fingerprints fingerprints = this->fingerprints(plan.options().data.data, dry_run);
      planned.choice = options.dump() + fingerprints.train;
      planned.test_data = fingerprints.test;
      planned.work = rough_seconds(plan);
      planned.read = options_read(plan, run.options);
      found = planned_.emplace(without_seeds, std::move(planned)).first;
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}: {}", study.file.string(), run_text(run), error.what()));
    } catch (const PrivacyError& error) {
      throw PrivacyError(fmt::format("{}: {}: {}", study.file.string(), run_text(run), error.what()));
    }
  PlannedRun planned = found->second;
  planned.run = run;
  std::string seeds;
  for (const char* name : kSeeds)
    if (const auto seed = run.options.find(name); seed != run.options.end()) {
      planned.config[json_name(name)] = std::stoll(seed->second);
      seeds += fmt::format("{} {};", name, seed->second);
    }
  planned.choice = sha256_text(planned.choice + seeds);
  planned.key = sha256_text(fmt::format("{} {}", kVersion, planned.choice)).substr(0, 32);
  return planned;
}

void StudyPlanner::check_options(const Study& study) {
  std::vector<std::string> names;
  TrainOptions options;
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields) names.emplace_back(field.name);
  const auto check = [&](const std::string& name, const std::string& where) {
    check_input(std::ranges::count(names, name) > 0, "{}: {}: not an option of fodp train: {}", study.file.string(), where,
                suggestion(name, {names.begin(), names.end()}));
  };
  for (const auto& item : study.base) check(item.first, "base." + item.first);
  for (const Axis& axis : study.axes)
    for (const AxisValue& value : axis.values)
      for (const auto& item : value.options) check(item.first, "axes." + axis.name);
  if (study.tuning) check(study.tuning->option, "tune.option");
}

void StudyPlanner::check_read(const Study& study, const std::vector<PlannedRun>& runs) {
  const auto check = [&](const std::string& name, const std::string& where) {
    check_input(std::ranges::any_of(runs, [&](const PlannedRun& run) { return run.read.contains(name); }),
                "{}: {}: no run of this study reads --{}: it would change nothing", study.file.string(), where, name);
  };
  for (const auto& [name, text] : study.base) {
    if (runs.empty()) break;
    const auto has_it = [&](const PlannedRun& run) {
      const auto found = run.run.options.find(name);
      return found != run.run.options.end() && found->second == text;
    };
    check_input(std::ranges::any_of(runs, has_it), "{}: base.{}: every run has another value from its axes: it would change nothing",
                study.file.string(), name);
    check(name, "base." + name);
  }
  if (study.tuning && !runs.empty()) check(study.tuning->option, "tune.option");
  for (const Axis& axis : study.axes)
    for (const AxisValue& value : axis.values)
      for (const auto& item : value.options) check(item.first, "axes." + axis.name);
}

void StudyPlanner::check_differ(const Study& study, const std::vector<PlannedRun>& runs) {
  std::map<std::string, const PlannedRun*> by_key;
  for (const PlannedRun& run : runs) {
    const auto [first, is_new] = by_key.emplace(run.key, &run);
    check_input(is_new, "{}: axes: '{}' and '{}' are the same training: no option that they differ in decides anything",
                study.file.string(), run_text(first->second->run), run_text(run.run));
  }
}

std::vector<std::string> StudyPlanner::words(const PlannedRun& run, const std::string& out) {
  Words words = words_of(run.run.options, folder_of(run.config["data"]));
  words.insert(words.begin(), {"fodp", "train"});
  words.insert(words.end(), {"--out=" + out, "--threads=1", "--quiet"});
  return words;
}

}  // namespace fodp::app
