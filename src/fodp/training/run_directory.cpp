#include "fodp/training/run_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include "fodp/accounting/events_json.h"
#include "fodp/accounting/spending_json.h"
#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/base/clock.h"
#include "fodp/base/fields_json.h"
#include "fodp/base/sha256.h"
#include "fodp/base/version.h"
#include "fodp/features/feature_data.h"
#include "fodp/training/model_file.h"
#include "fodp/training/statement.h"

namespace fodp {
namespace {

constexpr const char* kRunFiles[] = {"config.json", "metrics.jsonl", "summary.json", "statement.txt",
                                     "model.json",  "model.pt",      "ledger",       "checkpoint"};

std::string json_text(const nlohmann::ordered_json& value) { return value.dump(2) + "\n"; }

// The folder that names of files are relative to now. Nothing if it is gone, or has a name that JSON cannot hold.
std::optional<std::string> folder_now() {
  std::error_code gone;
  const std::string name = std::filesystem::current_path(gone).string();
  try {
    nlohmann::json(name).dump();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return gone ? std::nullopt : std::optional(name);
}

// Times tell how large lots were; whole seconds tell too little for that. Runs that are not private keep fractions.
nlohmann::ordered_json seconds_json(const Plan& plan, double seconds) {
  return plan.is_private() ? nlohmann::ordered_json(std::llround(seconds)) : nlohmann::ordered_json(seconds);
}

nlohmann::ordered_json or_null(const std::string& text) { return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text); }

// Those of a plan are those of a run that comes to its end.
void add_guarantee(nlohmann::ordered_json& out, const Plan& plan, const Guarantee* made) {
  const Guarantee planned{plan.events(), plan.spent(), plan.spent_ideal(), plan.events(), plan.spent().epsilon};
  const Guarantee& holds = made ? *made : planned;
  out["event"] = events_to_json(holds.events);
  out["epsilon"] = json_number(holds.spent.epsilon);
  out["epsilon_ideal"] = json_number(holds.spent_ideal.epsilon);
  out["planned_epsilon"] = json_number(plan.spent().epsilon);
  if (plan.unit_is_row())
    for (const auto& [rows, epsilon] : group_epsilons(plan, holds.events))
      out["group_epsilon"][std::to_string(rows)] = json_number(epsilon);
  out["epsilon_if_stop_was_fixed"] = json_number(holds.epsilon_if_stop_was_fixed);
  if (!holds.all_charged()) out["event_if_stop_was_fixed"] = events_to_json(holds.charged);
  out["delta"] = plan.delta();
}

nlohmann::ordered_json started_from_json(const Plan& plan) {
  const std::optional<StartedFrom>& start = plan.earlier().started_from;
  return start ? nlohmann::ordered_json{{"file", start->file}, {"cost", enum_name(start->cost)}} : nlohmann::ordered_json();
}

// What this run cost and those before it. A plan has no identity yet.
void add_runs(nlohmann::ordered_json& out, const Plan& plan, const Result* result) {
  const Events own = result ? own_events(plan, *result) : plan.own_events();
  add_spending(out, plan.earlier().runs,
               {.events = own, .run = result ? result->run : "", .insecure = plan.insecure(), .unit = plan.unit()});
}

void add_result(nlohmann::ordered_json& out, const Plan& plan, const Result& result, const Objective& objective) {
  const Evaluation& last = result.evaluations.back();
  const std::string metric(objective.metric);
  if (plan.context().chosen.norm_moves) out["final_clip_norm"] = result.clip_norm;
  out["test_" + metric] = json_number(last.test_metric);
  out["best_test_" + metric] = json_number(result.best_test_metric);
  out["test_loss"] = json_number(last.test_loss);
  if (objective.error) out["test_rmse"] = json_number(last.test_error);
  if (plan.tests_are_private() && !objective.error)
    out["test_" + metric + "_noise"] = plan.tests().noise / static_cast<double>(plan.sizes().test);
  out["seconds"] = seconds_json(plan, result.seconds);
}

RunFiles files_in(const std::filesystem::path& directory, const Plan& plan, const std::string& data_fingerprint) {
  return {directory / "ledger", directory / "checkpoint", data_fingerprint, plan.options().run.checkpoint_every};
}

}  // namespace

RunIdentity identity_now(std::string data_fingerprint) {
  return {.date = utc_now(), .data_fingerprint = std::move(data_fingerprint), .model_sha256 = "", .files = {}};
}

nlohmann::ordered_json config_json(const Plan& plan) {
  nlohmann::ordered_json out;
  TrainOptions options = plan.options();
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields) out[json_name(field.name)] = json_value(field.value(view.options));
  out["derived"] = plan.derived();
  out["filled"] = plan.filled();
  return out;
}

nlohmann::ordered_json summary_json(const Plan& plan, const Result* result, const Objective& objective, const RunIdentity& identity) {
  const TrainOptions& options = plan.options();
  nlohmann::ordered_json out;
  plan.stages().for_each([&](std::string_view stage, const auto& entry) { out[stage] = entry.name; });
  out["data"] = options.data_name;
  out["data_fingerprint"] = or_null(identity.data_fingerprint);
  out["unit"] = plan.unit();
  out["units"] = plan.train_examples();
  out["train_examples"] = plan.train_examples();
  out["test_examples"] = plan.sizes().test;
  out["sizes_from"] = enum_name(plan.sizes().from);
  if (has_features(options.data)) out["features"] = describe_with_features(options.data).inputs["features"];
  out["model"] = plan.model();
  out["model_sha256"] = or_null(identity.model_sha256);
  out["parameters"] = plan.parameters();
  out["init_seed"] = json_of(options.run.init_seed);
  out["started_from"] = started_from_json(plan);
  out["planned"] = result == nullptr;
  out["steps"] = result ? result->steps : plan.steps();
  out["planned_steps"] = plan.steps();
  if (result && result->budget_spent) out["budget_spent"] = true;
  out["stopped_early"] = result != nullptr && result->steps < plan.steps();
  out["sample_rate"] = json_of(plan.sample_rate());
  out["expected_lot"] = json_of(plan.expected_lot());
  out["clip_norm"] = options.clip.clip_norm;
  out["noise_multiplier"] = json_of(plan.noise_multiplier());
  out["lr"] = json_of(options.update.lr);
  out["beta"] = plan.stages().reads("beta") ? config_json(plan)["beta"] : nlohmann::ordered_json();
  add_guarantee(out, plan, result);
  out["accountant"] = enum_name(options.privacy.accountant);
  out["adjacency"] = "add/remove";
  out["sensitivity_slack"] = plan.slack();
  if (result) add_result(out, plan, *result, objective);
  out["private"] = plan.is_private();
  add_runs(out, plan, result);
  out["warnings"] = plan.warnings();
  if (!identity.files.empty()) out["files"] = identity.files;
  out["date"] = identity.date;
  out["version"] = kVersion;
  for (const auto& [name, version] : versions()) out["versions"][name] = version;
  return out;
}

nlohmann::ordered_json evaluation_json(const Plan& plan, const Evaluation& evaluation, const Objective& objective) {
  nlohmann::ordered_json out = {{"step", evaluation.step},
                                {"epoch", evaluation.epoch},
                                {"epsilon", json_number(evaluation.epsilon)},
                                {"test_" + std::string(objective.metric), json_number(evaluation.test_metric)},
                                {"test_loss", json_number(evaluation.test_loss)},
                                {"seconds", seconds_json(plan, evaluation.seconds)}};
  if (const auto& view = evaluation.insecure) {
    const Mechanism::InsecureParts parts = view->parts.value_or(Mechanism::InsecureParts{NAN, NAN, NAN, NAN});
    out["insecure_diagnostics"] = {{"train_loss", json_number(view->train_loss)},
                                   {"clip_fraction", view->clip_fraction},
                                   {"mean_norm", json_number(view->mean_norm)},
                                   {"largest_norm", json_number(view->largest_norm)},
                                   {"signal_norm", json_number(parts.signal)},
                                   {"memory_norm", json_number(parts.memory)},
                                   {"noise_memory_norm", json_number(parts.noise_memory)},
                                   {"noise_norm", json_number(parts.noise)},
                                   {"memory_depth", json_number(parts.memory_depth)},
                                   {"memory_ratio", json_number(parts.memory_ratio)}};
  }
  if (!plan.is_private()) out["insecure"] = plan.insecure();
  if (plan.stages().averaging->make) out["averaging"] = plan.stages().averaging->name;
  return out;
}

nlohmann::ordered_json model_json(const Plan& plan, const Result& result, const DataDescription& about) {
  nlohmann::ordered_json out = {{"inputs", about.inputs},
                                {"classes", about.target.classes},
                                {"model", plan.model()},
                                {"events", events_to_json(result.events)},
                                {"private", plan.is_private()}};
  if (!about.class_names.empty()) out["class_names"] = about.class_names;
  add_runs(out, plan, &result);
  return out;
}

std::string privacy_statement(const Plan& plan, const Result& result, const RunIdentity& identity) {
  StatementFacts facts = facts_of(plan, result);
  facts.date = identity.date;
  facts.model_sha256 = identity.model_sha256;
  return privacy_statement(plan, facts);
}

// Other users have no business in a run. Whoever wants to share one makes its directory beforehand.
void make_run_directory(const std::filesystem::path& asked) {
  const std::string name = asked.string();
  std::filesystem::path directory = asked;
  while (directory.has_parent_path() && (directory.filename().empty() || directory.filename() == ".")) directory = directory.parent_path();
  std::error_code error;
  if (directory.has_parent_path()) std::filesystem::create_directories(directory.parent_path(), error);
  check_input(!error, "`out` {}: cannot be made: {}", name, error.message());
  const bool made = ::mkdir(directory.c_str(), S_IRWXU) == 0;
  check_input(made || errno == EEXIST, "`out` {}: cannot be made: {}", name, std::strerror(errno));
}

void check_can_make_run(const std::filesystem::path& directory) { check_can_make_run(directory, kRunFiles); }

void check_can_make_run(const std::filesystem::path& directory, std::span<const char* const> files) {
  std::error_code ignored;
  check_input(!directory.empty(), "`out`: give the name of a directory");
  check_input(!std::filesystem::exists(directory, ignored) || std::filesystem::is_directory(directory, ignored),
              "`out` {}: there is a file of that name; give a directory", directory.string());
  for (const char* name : files)
    check_input(!std::filesystem::exists(std::filesystem::symlink_status(directory / name, ignored)),
                "`out` {}: holds a run already, finished or not ({}); give another directory", directory.string(), name);
  // The nearest parent that exists must take a new directory.
  std::filesystem::path parent = std::filesystem::absolute(directory).lexically_normal();
  while (!std::filesystem::exists(parent, ignored) && parent.has_relative_path()) parent = parent.parent_path();
  check_input(::access(parent.c_str(), W_OK | X_OK) == 0 && std::filesystem::is_directory(parent, ignored),
              "`out` {}: cannot be made: {} is not a directory that can be written", directory.string(), parent.string());
}

void check_can_write(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  check_input(std::filesystem::is_directory(folder, ignored) && ::access(folder.c_str(), W_OK | X_OK) == 0,
              "`save` {}: {} is not a directory that can be written", file.string(), folder.string());
  check_input(!std::filesystem::is_directory(file, ignored), "`save` {}: is a directory", file.string());
  const std::string extension = file.extension().string();
  check_input(extension == ".pt" || extension == ".pth" || extension == ".safetensors",
              "`save` {}: the ending '{}' is not known; use .pt or .safetensors", file.string(), extension);
}

RunDirectory::RunDirectory(const std::filesystem::path& directory, Trainer& trainer, const std::string& data_fingerprint)
    : directory_(directory), trainer_(trainer) {
  check_can_make_run(directory);
  make_run_directory(directory);
  nlohmann::ordered_json config = config_json(trainer.plan());
  if (const std::optional<std::string> folder = folder_now()) config["started_in"] = *folder;
  write_file_atomically(directory / "config.json", json_text(config), "run file");
  metrics_.emplace(directory / "metrics.jsonl", "run file");
  trainer.keep(files_in(directory, trainer.plan(), data_fingerprint));
}

RunDirectory::RunDirectory(Resume, const std::filesystem::path& directory, Trainer& trainer, const std::string& data_fingerprint)
    : directory_(directory), trainer_(trainer) {
  check_input(std::filesystem::exists(directory / "ledger"),
              "`resume` {}: there is no ledger, so nothing was trained: start the run anew in another directory", directory.string());
  trainer.keep(files_in(directory, trainer.plan(), data_fingerprint));
  if (trainer.steps_taken() == trainer.plan().steps() && std::filesystem::exists(directory / "summary.json"))
    throw BudgetError(fmt::format(
        "`resume` {0}: this run has taken all of its {1} steps, and what it planned to spend is spent. To train on, start a new run with "
        "`init` {0}/model.pt and a larger `epsilon`: it counts what this one has cost",
        directory.string(), trainer.plan().steps()));
  // Files that a killed process had not finished. Nobody else writes here: this process holds the ledger.
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (const std::string name = entry.path().filename().string(); name.starts_with(".fodp-") && name.ends_with(".tmp"))
      std::filesystem::remove(entry.path());
  // What was written when the run was stopped does not describe it any more.
  for (const char* name : {"summary.json", "statement.txt"}) std::filesystem::remove(directory / name);
  reopen_metrics(trainer.steps_taken());
}

// Evaluations after the last checkpoint are of steps that are taken again.
void RunDirectory::reopen_metrics(std::int64_t last_step) {
  const std::filesystem::path file = directory_ / "metrics.jsonl";
  std::string kept;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("step") && json["step"].is_number() && json["step"] <= last_step) kept += line + "\n";
  }
  metrics_.emplace(file, "run file", kept);
}

void RunDirectory::add(const Evaluation& evaluation) {
  metrics_->add(evaluation_json(trainer_.plan(), evaluation, trainer_.objective()).dump());
}

void RunDirectory::finish(const Result& result, const StateDict& parameters, const DataDescription& about, RunIdentity& identity) {
  const Plan& plan = trainer_.plan();
  const nlohmann::ordered_json model = model_json(plan, result, about);
  save_state_dict(parameters, directory_ / "model.pt", {{kModelKey, model.dump()}});
  identity.model_sha256 = sha256_file(directory_ / "model.pt");
  write_file_atomically(directory_ / "model.json", json_text(model), "run file");
  write_file_atomically(directory_ / "statement.txt", privacy_statement(plan, result, identity), "run file");
  for (const char* name : {"config.json", "metrics.jsonl", "model.json", "statement.txt"})
    identity.files[name] = sha256_file(directory_ / name);
  write_file_atomically(directory_ / "summary.json", json_text(summary_json(plan, &result, trainer_.objective(), identity)), "run file");
}

}  // namespace fodp
