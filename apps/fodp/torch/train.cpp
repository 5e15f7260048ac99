// fodp train: a private training from options to model, with its privacy statement.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/core.h>

#include "command.h"
#include "feature_progress.h"
#include "flags.h"
#include "fodp/base/automatic.h"
#include "fodp/training/export.h"
#include "fodp/training/model_file.h"
#include "fodp/training/run_directory.h"
#include "fodp/training/statement.h"
#include "interrupt.h"
#include "progress.h"
#include "text.h"
#include "train_flags.h"

namespace fodp::app {
namespace {

// For a plan whose only use is to find what is wrong with the options, before the rows are read and counted.
std::int64_t rows_to_try(const PrivacyOptions& privacy) {
  return std::max<std::int64_t>(100000, static_cast<std::int64_t>(std::ceil(std::min(1e9, privacy.lot.value_or(0)))));
}

void warn(const std::string& text) { note("fodp: warning: " + with_dashes(text) + "\n"); }

void print_warnings(const Plan& plan, const Flags& flags) {
  for (const std::string& text : plan.warnings()) warn(text);
  for (const std::string& text : plan.insecure()) warn("NOT PRIVATE: " + text);
  if (plan.tests_are_private() && plan.tests().noise > .1 * static_cast<double>(plan.sizes().test))
    warn("there are so few private test rows that the noise hides what they would tell: what is spent on them is lost; give more, or none");
  const ModelKind model = plan.options().model.model;
  if (flags.given("hidden") && model != ModelKind::mlp)
    warn(fmt::format("--hidden has no effect: it is for the mlp, not the {}", enum_name(model)));
  if (flags.given("activation") && model == ModelKind::resnet) warn("--activation has no effect: the resnet's is relu");
  if (flags.given("activation") && model == ModelKind::linear) warn("--activation has no effect: a linear model has none");
}

std::string short_text(const Schedule& schedule) { return schedule.constant() ? fmt::format("{:.6g}", schedule.first()) : schedule.text(); }

// What of the size of the run nobody gave, and how to give it.
void print_planned_size(const Plan& plan) {
  const bool rate = plan.rate_is_planned(), steps = plan.steps_are_planned();
  if (!rate && !steps) return;
  const std::string names = rate && steps ? "--sample-rate and --steps" : rate ? "--sample-rate" : "--steps";
  note(fmt::format("Planned for {} {}: {}{}{}{}; {} give others, and fodp plan compares them\n", plan.train_examples(),
                   plan.unit_is_row() ? "examples" : "units", rate ? "sample rate " + short_text(plan.sample_rate()) : "",
                   rate && steps ? ", " : "", steps ? fmt::format("{} steps", plan.steps()) : "",
                   rate && steps ? fmt::format(", learning rate {}", number_text(*plan.options().update.lr)) : "", names));
}

// Options that are "auto" unless they are given, such as the bands of correlated noise, with what was chosen for them.
void print_chosen(const Plan& plan) {
  const nlohmann::ordered_json config = config_json(plan);
  TrainOptions options = plan.options();
  std::string list;
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields)
      if (const std::string name = json_name(field.name); field.standard == kAutomatic && std::ranges::count(plan.filled(), name) > 0)
        list += fmt::format("{}{} {}", list.empty() ? "" : ", ", field.name, config[name].dump());
  if (!list.empty()) note(fmt::format("Chosen from public numbers: {}\n", list));
}

void print_plan(const Plan& plan) {
  const std::string units = plan.unit_is_row() ? "examples" : fmt::format("units ({})", plan.unit());
  const ClassWeights& weights = plan.options().run.class_weights;
  const std::string weighted =
      weights.empty() ? "" : ", class weights " + class_weights_text(weights, describe_data(plan.options().data).class_names);
  note(fmt::format("{} on {}: {} {}, {} with {} parameters, {} steps, expected lot {}, clip norm {}, noise multiplier {}{}\n",
                   plan.method().name, plan.options().data_name, plan.train_examples(), units, plan.model(), plan.parameters(),
                   plan.steps(), short_text(plan.expected_lot()), number_text(plan.options().clip.clip_norm),
                   short_text(plan.noise_multiplier()), weighted));
  print_planned_size(plan);
  if (plan.lr_is_planned())
    note(fmt::format("Learning rate {}: the largest that leaves little noise in the outputs; --lr gives another\n",
                     number_text(*plan.options().update.lr)));
  print_chosen(plan);
}

Result train_with_progress(Trainer& trainer, std::optional<RunDirectory>& directory, bool quiet, const Interrupt& interrupt) {
  ProgressLine line(trainer.objective(), trainer.plan().spent().epsilon, quiet);
  return trainer.run({.evaluated =
                          [&](const Evaluation& evaluation) {
                            line.evaluated(evaluation);
                            if (directory) directory->add(evaluation);
                          },
                      .stepped =
                          [&](const Progress& progress) {
                            if (progress.step < progress.steps) line.stepped(progress);
                            return !interrupt.came();
                          }});
}

int print_dry_run(const Plan& plan, const Flags& flags) {
  print_warnings(plan, flags);
  const Objective& objective = objective_for(describe_with_features(plan.options().data).target);
  if (flags.json()) return print_json(summary_json(plan, nullptr, objective, identity_now({}))), 0;
  if (!flags.quiet()) print_plan(plan);
  print_text(privacy_statement(plan));
  return 0;
}

// " (give or take .3% for its noise)" for a share of private test rows.
std::string noise_text(const Trainer& trainer) {
  const Plan& plan = trainer.plan();
  if (!plan.tests_are_private() || trainer.objective().error) return "";
  return fmt::format(" (its noise has a standard deviation of {:.2g}%)", 100 * plan.tests().noise / static_cast<double>(plan.sizes().test));
}

int print_result(const Trainer& trainer, const Result& result, const RunIdentity& identity, const Flags& flags, int status) {
  const Plan& plan = trainer.plan();
  if (flags.json()) return print_json(summary_json(plan, &result, trainer.objective(), identity)), status;
  const AveragingEntry& average = *plan.stages().averaging;
  const std::string of = average.make ? fmt::format(" of the averaged parameters ({})", average.name) : "";
  const double metric = result.evaluations.back().test_metric;
  const std::string tested = std::isnan(metric)
                                 ? "Trained, without a test,"
                                 : fmt::format("Test {}{}{}", metric_text(trainer.objective(), metric), noise_text(trainer), of);
  print_text(
      fmt::format("{} after {} steps in {:.1f} s\n\n{}", tested, result.steps, result.seconds, privacy_statement(plan, result, identity)));
  return status;
}

struct CommandLine : TrainFlags {
  CommandLine()
      : TrainFlags(
            "train",
            "Trains a model under differential privacy. Without options: FO-DP-SGD on Fashion-MNIST to epsilon 3. Either give a "
            "budget (--epsilon, and the noise is calibrated to it) or the noise itself (--noise-multiplier). On the CPU, in float32.",
            "fodp train --method fo-dp-sgd --data fashion-mnist --model mlp --epsilon 3 --out runs/demo") {}
};

// The names of files in the record of a run are relative to the folder that it was started in: goes there, if it is there still. Gives the
// name of the run's directory from there.
std::filesystem::path go_to_start(const nlohmann::json& record, const std::filesystem::path& run) {
  if (!record.is_object() || !record.value("started_in", nlohmann::json()).is_string()) return run;
  const std::filesystem::path start = record["started_in"].get<std::string>(), from_anywhere = std::filesystem::absolute(run);
  std::error_code error;
  if (std::filesystem::equivalent(start, std::filesystem::current_path(), error)) return run;
  std::filesystem::current_path(start, error);
  return error ? run : from_anywhere;
}

// The command line that a run was started with, as its record has it, and what may differ when it goes on.
Words words_to_resume(const CommandLine& given) {
  std::filesystem::path run = *given.options.run.resume;
  for (const std::string& name : given.flags.given())
    check_input(name == "resume" || name == "threads" || name == "physical-batch" || name == "quiet" || name == "json",
                "--{} and --resume: a run goes on as it was begun; only --threads, --physical-batch, --quiet and --json may be given",
                name);
  const std::filesystem::path config = run / "config.json";
  check_input(std::filesystem::exists(config), "--resume {}: not the directory of a run: it has no config.json", run.string());
  std::ifstream stream(config);
  const auto record = nlohmann::json::parse(stream, nullptr, false);
  run = go_to_start(record, run);
  Words words = {"--config", (run / "config.json").string(), "--out", run.string()};
  for (const std::string name : {"save", "export"})
    if (record.is_object() && record.value(name, nlohmann::json()).is_string()) words.insert(words.end(), {"--" + name, record[name]});
  const SpeedOptions& speed = given.options.speed;
  if (given.flags.given("threads")) words.insert(words.end(), {"--threads", std::to_string(*speed.threads)});
  if (given.flags.given("physical-batch")) words.insert(words.end(), {"--physical-batch", std::to_string(speed.physical_batch)});
  if (given.flags.json()) words.emplace_back("--json");
  if (given.flags.quiet()) words.emplace_back("--quiet");
  return words;
}

void open_directory(std::optional<RunDirectory>& directory, Trainer& trainer, const std::string& fingerprint, bool resume) {
  const std::optional<std::string>& out = trainer.plan().options().run.out;
  if (!out) return;
  if (!resume) {
    directory.emplace(*out, trainer, fingerprint);
    return;
  }
  directory.emplace(RunDirectory::Resume(), *out, trainer, fingerprint);
  note(fmt::format("fodp: going on after step {} of {}\n", trainer.steps_taken(), trainer.plan().steps()));
  if (trainer.charges_lost() > 0)
    warn(fmt::format("{} charges of the interrupted run were for steps after its last checkpoint, which are taken again and cost again",
                     trainer.charges_lost()));
}

void print_end(const Trainer& trainer, const Result& result, bool interrupted) {
  const Plan& plan = trainer.plan();
  if (result.steps < plan.steps())
    warn(fmt::format("{} after {} of {} steps; the guarantee is that of the whole plan",
                     result.budget_spent ? "the budget is spent" : "stopped", result.steps, plan.steps()));
  if (interrupted && plan.options().run.out && result.steps < plan.steps())
    note(fmt::format("fodp: to go on: fodp train --resume {}\n", *plan.options().run.out));
  if (const double loss = result.evaluations.back().test_loss;
      trainer.plan().sizes().test > 0 && !trainer.plan().tests_are_private() && !(loss < 1e6))
    warn(fmt::format("the run diverged: the test loss is {:.3g}; a smaller --lr would help", loss));
}

void export_trained(const Trainer& trainer, const nlohmann::ordered_json& model, const DataDescription& about) {
  const TrainOptions& options = trainer.plan().options();
  const Model network = make_model(options.model, shape_for_model(about));
  set_parameters(trainer.state(), *network.module, *options.run.export_to);
  export_model(*network.module, model, *options.run.export_to);
}

// Which rows are held out follows from a number that is drawn once and recorded, like the initial values.
void draw_test_seed(TrainOptions& options) {
  if (options.data.test_fraction && !options.data.test_seed)
    options.data.test_seed = options.insecure_seed ? *options.insecure_seed : static_cast<std::int64_t>(std::random_device()());
}

int train(CommandLine& line, bool resume) {
  draw_test_seed(line.options);
  line.fill_feature_defaults();
  const TrainOptions& options = line.options;
  const Flags& flags = line.flags;
  const std::string asked = options.method;
  // All that can be wrong with the options, before any row is read. Some data does not tell how many rows it has without being read.
  const std::optional<DataSizes> announced = sizes_before_reading(options.data);
  std::optional<Plan> plan;
  if (announced)
    plan.emplace(make_plan(options, *announced));
  else
    make_plan(options, {rows_to_try(options.privacy), 0, SizesFrom::option});
  check_input(plan || !options.run.dry_run,
              "--dry-run reads no row, and how many there are to train on is not known without reading them: give --train-size");
  const auto explain_alias = [&] {
    if (asked != plan->method().name) note(fmt::format("fodp: {} is {}: {}\n", asked, plan->method().name, plan->method().alias_reason));
  };
  if (plan) explain_alias();
  if (options.run.dry_run) return print_dry_run(*plan, flags);
  if (options.run.out && !resume) check_can_make_run(*options.run.out);
  if (options.run.save) check_can_write(*options.run.save);
  if (options.run.export_to) check_can_export(describe_with_features(options.data).inputs, *options.run.export_to);

  const RunData data = load_with_features(options.data, feature_work(flags.quiet(), options.speed.threads));
  const bool planned = plan.has_value();
  if (!plan || data.sizes().train != plan->sizes().train || data.sizes().test != plan->sizes().test)
    plan.emplace(make_plan(options, data.sizes()));
  if (!planned) explain_alias();
  print_warnings(*plan, flags);
  if (!flags.quiet()) print_plan(*plan);

  Trainer trainer(std::move(*plan), data);
  std::optional<RunDirectory> directory;
  open_directory(directory, trainer, data.fingerprint, resume);
  const Interrupt interrupt;
  const Result result = train_with_progress(trainer, directory, flags.quiet(), interrupt);
  print_end(trainer, result, interrupt.came());

  RunIdentity identity = identity_now(data.fingerprint);
  if (directory) directory->finish(result, trainer.state(), data.about, identity);
  if (options.run.save)
    save_state_dict(trainer.state(), *options.run.save, {{kModelKey, model_json(trainer.plan(), result, data.about).dump()}});
  if (options.run.export_to) export_trained(trainer, model_json(trainer.plan(), result, data.about), data.about);
  const int status = print_result(trainer, result, identity, flags, interrupt.came() ? kInterruptedStatus : 0);
  if (options.run.out && !flags.json())
    print_text(fmt::format("\nIn {}: config.json, metrics.jsonl, summary.json, statement.txt, model.json, model.pt, ledger, checkpoint\n",
                           *options.run.out));
  return status;
}

}  // namespace

int train(const Words& words) {
  CommandLine line;
  line.show_options_of(words);
  if (!line.flags.parse(words)) return 0;
  if (!line.options.run.resume) return train(line, false);
  CommandLine again;
  again.flags.parse(words_to_resume(line));
  return train(again, true);
}

}  // namespace fodp::app
