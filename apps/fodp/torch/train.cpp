// fodp train: a private training from options to model, with its privacy statement.
#include <filesystem>
#include <fstream>

#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/training/model_file.h"
#include "fodp/training/run_directory.h"
#include "fodp/training/statement.h"
#include "interrupt.h"
#include "progress.h"
#include "text.h"
#include "train_flags.h"

namespace fodp::app {
namespace {

void warn(const std::string& text) { note("fodp: warning: " + with_dashes(text) + "\n"); }

void print_warnings(const Plan& plan, const Flags& flags) {
  for (const std::string& text : plan.warnings()) warn(text);
  for (const std::string& text : plan.insecure()) warn("NOT PRIVATE: " + text);
  const ModelKind model = plan.options().model.model;
  if (flags.given("hidden") && model != ModelKind::mlp)
    warn(fmt::format("--hidden has no effect: it is for the mlp, not the {}", enum_name(model)));
  if (flags.given("activation") && model == ModelKind::resnet) warn("--activation has no effect: the resnet's is relu");
}

std::string short_text(const Schedule& schedule) { return schedule.constant() ? fmt::format("{:.6g}", schedule.first()) : schedule.text(); }

void print_plan(const Plan& plan) {
  note(fmt::format("{} on {}: {} examples, {} with {} parameters, {} steps, expected lot {}, clip norm {}, noise multiplier {}\n",
                   plan.method().name, plan.options().data_name, plan.train_examples(), plan.model(), plan.parameters(), plan.steps(),
                   short_text(plan.expected_lot()), number_text(plan.options().clip.clip_norm), short_text(plan.noise_multiplier())));
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
  if (flags.json()) return print_json(summary_json(plan, nullptr, *objective_table().front(), identity_now({}))), 0;
  if (!flags.quiet()) print_plan(plan);
  print_text(privacy_statement(plan));
  return 0;
}

int print_result(const Trainer& trainer, const Result& result, const RunIdentity& identity, const Flags& flags, int status) {
  const Plan& plan = trainer.plan();
  if (flags.json()) return print_json(summary_json(plan, &result, trainer.objective(), identity)), status;
  const AveragingEntry& average = *plan.stages().averaging;
  const std::string of = average.make ? fmt::format(" of the averaged parameters ({})", average.name) : "";
  print_text(fmt::format("Test {}{} after {} steps in {:.1f} s\n\n{}",
                         metric_text(trainer.objective(), result.evaluations.back().test_metric), of, result.steps, result.seconds,
                         privacy_statement(plan, result, identity)));
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

// The command line that a run was started with, as its record has it, and what may differ when it goes on.
Words words_to_resume(const CommandLine& given) {
  const std::filesystem::path run = *given.options.run.resume;
  for (const std::string& name : given.flags.given())
    check_input(name == "resume" || name == "threads" || name == "physical-batch" || name == "quiet" || name == "json",
                "--{} and --resume: a run goes on as it was begun; only --threads, --physical-batch, --quiet and --json may be given",
                name);
  const std::filesystem::path config = run / "config.json";
  check_input(std::filesystem::exists(config), "--resume {}: not the directory of a run: it has no config.json", run.string());
  Words words = {"--config", config.string(), "--out", run.string()};
  std::ifstream stream(config);
  const auto record = nlohmann::json::parse(stream, nullptr, false);
  if (record.is_object() && record.value("save", nlohmann::json()).is_string()) words.insert(words.end(), {"--save", record["save"]});
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
  if (const double loss = result.evaluations.back().test_loss; !(loss < 1e6))
    warn(fmt::format("the run diverged: the test loss is {:.3g}; a smaller --lr would help", loss));
}

int train(const CommandLine& line, bool resume) {
  const TrainOptions& options = line.options;
  const Flags& flags = line.flags;
  const std::string asked = options.method;
  // All that can be wrong with the options, before any row is read.
  Plan plan = make_plan(options, announced_sizes(options.data));
  if (asked != plan.method().name) note(fmt::format("fodp: {} is {}: {}\n", asked, plan.method().name, plan.method().alias_reason));
  if (options.run.dry_run) return print_dry_run(plan, flags);
  if (options.run.out && !resume) check_can_make_run(*options.run.out);
  if (options.run.save) check_can_write(*options.run.save);

  const Dataset data = load_dataset(options.data);
  if (data.train.size() != plan.sizes().train || data.test.size() != plan.sizes().test)
    plan = make_plan(options, {data.train.size(), data.test.size()});
  print_warnings(plan, flags);
  if (!flags.quiet()) print_plan(plan);

  Trainer trainer(std::move(plan), data);
  std::optional<RunDirectory> directory;
  open_directory(directory, trainer, data.fingerprint, resume);
  const Interrupt interrupt;
  const Result result = train_with_progress(trainer, directory, flags.quiet(), interrupt);
  print_end(trainer, result, interrupt.came());

  RunIdentity identity = identity_now(data.fingerprint);
  if (directory) directory->finish(result, trainer.state(), *data.format, identity);
  if (options.run.save)
    save_state_dict(trainer.state(), *options.run.save, {{kModelKey, model_json(trainer.plan(), result, *data.format).dump()}});
  const int status = print_result(trainer, result, identity, flags, interrupt.came() ? kInterruptedStatus : 0);
  if (options.run.out && !flags.json())
    print_text(fmt::format("\nIn {}: config.json, metrics.jsonl, summary.json, statement.txt, model.json, model.pt, ledger, checkpoint\n",
                           *options.run.out));
  return status;
}

}  // namespace

int train(const Words& words) {
  CommandLine line;
  if (!line.flags.parse(words)) return 0;
  if (!line.options.run.resume) return train(line, false);
  CommandLine again;
  again.flags.parse(words_to_resume(line));
  return train(again, true);
}

}  // namespace fodp::app
