// fodp train: a private training from options to model, with its privacy statement.
#include <csignal>

#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/training/record.h"
#include "progress.h"

namespace fodp::app {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);  // the second one ends at once
  std::signal(SIGTERM, SIG_DFL);
}

void warn(const std::string& text) { note("fodp: warning: " + text + "\n"); }

void warn_unused_options(const Plan& plan, const Flags& flags) {
  const ModelKind model = plan.options.model.model;
  if (flags.given("hidden") && model != ModelKind::mlp)
    warn(fmt::format("--hidden has no effect: it is for the mlp, not the {}", enum_name(model)));
  if (flags.given("activation") && model == ModelKind::resnet) warn("--activation has no effect: the resnet's is relu");
  const Stages& stages = plan.stages;
  MethodOptions::for_each_part(plan.options, [&](std::string_view, const auto& part) {
    for_each_field(part, [&](const auto& field, const auto&) {
      if (flags.given(field.name) && !stages.read(part, field.name))
        warn(fmt::format("--{} has no effect on {} with release {}, filter {}, update {}, clipping {}, averaging {}", field.name,
                         plan.method->name, enum_name(stages.release), enum_name(stages.filter), enum_name(stages.update),
                         enum_name(stages.clipping), enum_name(stages.averaging)));
    });
  });
}

void print_warnings(const Plan& plan, const Flags& flags) {
  for (const std::string& text : plan.warnings) warn(text);
  for (const std::string& text : plan.insecure) warn("NOT PRIVATE: " + text);
  warn_unused_options(plan, flags);
}

std::string short_text(const Schedule& schedule) { return schedule.constant() ? fmt::format("{:.6g}", schedule.first()) : schedule.text(); }

void print_plan(const Plan& plan) {
  note(fmt::format("{} on {}: {} examples, {} with {} parameters, {} steps, expected lot {}, clip norm {}, noise multiplier {}\n",
                   plan.method->name, plan.options.data.data, plan.train_examples, enum_name(plan.options.model.model), plan.parameters,
                   plan.steps, short_text(plan.expected_lot()), number_text(plan.options.clip.clip_norm),
                   short_text(plan.noise_multiplier)));
}

Result train_with_progress(const Plan& plan, Trainer& trainer, std::optional<RunDirectory>& directory, bool quiet) {
  ProgressLine line(quiet);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  return trainer.run({.evaluated =
                          [&](const Evaluation& evaluation) {
                            line.evaluated(evaluation);
                            if (directory) directory->add(evaluation);
                          },
                      .stepped =
                          [&](const Progress& progress) {
                            if (progress.step < plan.steps) line.stepped(progress);
                            return interrupted == 0;
                          }});
}

}  // namespace

int train(const Words& words) {
  TrainOptions options;
  Flags flags("train",
              "Trains a model under differential privacy. Without options: FO-DP-SGD on Fashion-MNIST to epsilon 3. Either give a budget "
              "(--epsilon, and the noise is calibrated to it) or the noise itself (--noise-multiplier).",
              "fodp train --method fo-dp-sgd --data fashion-mnist --model mlp --epsilon 3 --delta 1e-5 --out runs/demo");
  TrainOptions::for_each_part(options, [&](std::string_view heading, auto& part) { flags.add(heading, part); });
  if (!flags.parse(words)) return 0;

  const std::string asked = options.run.method;
  Plan plan = make_plan(options, announced_sizes(options.data));  // all that can be wrong with the options, before any file is opened
  if (asked != plan.method->name) note(fmt::format("fodp: {} is {}: {}\n", asked, plan.method->name, plan.method->alias_reason));
  if (options.run.dry_run) {
    print_warnings(plan, flags);
    if (flags.json()) return print_json(summary_json(plan, nullptr)), 0;
    if (!flags.quiet()) print_plan(plan);
    fmt::print("{}", privacy_statement(plan, nullptr));
    return 0;
  }
  if (options.run.out) check_can_make_run(*options.run.out);
  if (options.run.save) check_can_write(*options.run.save);

  const Dataset data = load_dataset(options.data);
  if (data.train.size() != plan.train_examples || data.test.size() != plan.test_examples)
    plan = make_plan(options, {data.train.size(), data.test.size()});
  print_warnings(plan, flags);
  if (!flags.quiet()) print_plan(plan);

  Trainer trainer(plan, data);
  std::optional<RunDirectory> directory;
  if (options.run.out) directory.emplace(*options.run.out, plan);
  const Result result = train_with_progress(plan, trainer, directory, flags.quiet());
  if (result.steps < plan.steps) warn(fmt::format("stopped after {} of {} steps; what follows is for those", result.steps, plan.steps));

  if (const double loss = result.evaluations.back().test_loss; !(loss < 1e6))
    warn(fmt::format("the run diverged: the test loss is {:.3g}; a smaller --lr would help", loss));

  if (directory) directory->finish(plan, result, trainer.state());
  if (options.run.save) save_state_dict(trainer.state(), *options.run.save);
  if (flags.json()) return print_json(summary_json(plan, &result)), 0;
  const std::string of =
      plan.stages.averaging == Averaging::none ? "" : fmt::format(" of the averaged parameters ({})", enum_name(plan.stages.averaging));
  fmt::print("Test accuracy {:.2f}%{} after {} steps in {:.1f} s\n\n{}", 100 * result.evaluations.back().test_accuracy, of, result.steps,
             result.seconds, privacy_statement(plan, &result));
  if (options.run.out) fmt::print("\nIn {}: config.json, metrics.jsonl, summary.json, model.pt\n", *options.run.out);
  return 0;
}

}  // namespace fodp::app
