// fodp plan: what to run, from public numbers only. Lots, steps and noise that meet a budget, what each costs in time, how much noise each
// wastes, and the one that `fodp train` takes by itself.
#include <cmath>

#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/accounting/analytic.h"
#include "fodp/accounting/calibrate.h"
#include "fodp/accounting/pld.h"
#include "fodp/accounting/run_choice.h"
#include "fodp/base/fields_json.h"
#include "fodp/gradients/clip.h"
#include "fodp/mechanism/band_choice.h"
#include "fodp/noise/lattice.h"
#include "step_seconds.h"
#include "text.h"

namespace fodp::app {
namespace {

constexpr char kExample[] = "fodp plan --examples 60000 --epsilon 3 --delta 1e-6";

constexpr char kWarning[] =
    "Trying several of these, or several learning rates, on private rows and keeping the best costs privacy: every try counts, and its "
    "result is part of what is released. Instead take the choice as it is, try on public rows that are like yours, or let every run count "
    "(fodp train --spent RUN).";

struct PlanOptions {
  std::optional<std::int64_t> examples;
  std::int64_t parameters = 52650;
  std::optional<double> epsilon, delta, epochs_most;

  static auto fields() {
    using Self = PlanOptions;
    return std::tuple{
        field("examples", &Self::examples, "N: how many training examples there are, or people where these are the unit", between(1, 1e12)),
        field("parameters", &Self::parameters, "d: how many parameters the model has; for the time that it takes, and the finite precision",
              between(1, 1e11), "52650, the mlp on 28x28 pixels"),
        field("epsilon", &Self::epsilon, "the budget", above(0)),
        field("delta", &Self::delta, "chance that the guarantee fails", strictly_between(0, 1),
              "the largest power of ten at most 1/(10 x examples)"),
        field("epochs-most", &Self::epochs_most, "how often an example may be used on average, the bound on time", above_up_to(0, 1e6),
              "10, and more for fewer than 60000 examples or 5000 parameters"),
    };
  }
};

struct PlanRow {
  RunSize size;
  Calibrated noise;  // of DP-SGD
  double excess = 0, seconds = 0;
  BandChoice bands;
  double excess_with_bands = 0;
};

class PlanTable {
 public:
  PlanTable(const PlanOptions& options, double delta, double epochs)
      : examples_(*options.examples),
        budget_{*options.epsilon, delta},
        parameters_(options.parameters),
        slack_(sensitivity_slack(1, options.parameters, kMostBlockRows)) {
    const StepSeconds seconds = measure_step_seconds(options.parameters);
    for (const RunSize& size : sizes_to_compare(examples_, parameters_, epochs)) rows_.push_back(row(size, seconds));
    chosen_ = std::ranges::find(rows_, planned_size(examples_, parameters_, epochs), &PlanRow::size) - rows_.begin();
  }

  const std::vector<PlanRow>& rows() const { return rows_; }
  const PlanRow& chosen() const { return rows_[static_cast<std::size_t>(chosen_)]; }
  std::int64_t examples() const { return examples_; }
  bool is_what_train_takes() const { return chosen().size == planned_size(examples_, parameters_); }

 private:
  Calibrated calibrated(double rate, std::int64_t count) const {
    return calibrate_noise_multiplier(PlannedRun{.sample_rate = std::min(1.0, rate), .steps = count, .slack = slack_}, budget_, pld_);
  }

  PlanRow row(const RunSize& size, const StepSeconds& seconds) const {
    PlanRow row{.size = size, .noise = calibrated(size.sample_rate, size.steps), .seconds = seconds.of(size, examples_)};
    row.excess = row.excess_with_bands = excess_noise(size, row.noise.noise_multiplier, budget_);
    row.bands = choose_bands({.sample_rate = size.sample_rate, .steps = size.steps, .parameters = parameters_, .budget = budget_});
    if (const std::int64_t bands = row.bands.bands; bands > 1) {
      const double sigma = calibrated(static_cast<double>(bands) * size.sample_rate, (size.steps + bands - 1) / bands).noise_multiplier;
      row.excess_with_bands = excess_noise(size, sigma, budget_) * band_noise(band_coefficients(bands, row.bands.order), size.steps).end;
    }
    return row;
  }

  std::int64_t examples_;
  Budget budget_;
  std::int64_t parameters_;
  double slack_;
  PldAccountant pld_;
  std::vector<PlanRow> rows_;
  std::ptrdiff_t chosen_ = 0;
};

std::string why(const PlanTable& table, double epochs) {
  const PlanRow& chosen = table.chosen();
  return fmt::format(
      "the least excess noise of at least {} steps and at most {:.3g} epochs. Fewer steps would have less of it but need a learning rate "
      "that is no longer stable; more epochs would have less of it and take longer",
      chosen.size.steps, epochs);
}

nlohmann::ordered_json row_json(const PlanRow& row, std::int64_t examples) {
  return {{"sample_rate", row.size.sample_rate},
          {"expected_lot", row.size.sample_rate * static_cast<double>(examples)},
          {"steps", row.size.steps},
          {"epochs", row.size.epochs()},
          {"noise_multiplier", row.noise.noise_multiplier},
          {"epsilon", row.noise.spent.epsilon},
          {"excess_noise", row.excess},
          {"seconds", row.seconds},
          {"bands", row.bands.bands},
          {"order", row.bands.order},
          {"excess_noise_with_bands", row.excess_with_bands}};
}

std::string seconds_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.2g} s", seconds);
  return seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

void print_table(const PlanTable& table, double epochs) {
  std::string text = "  sample rate       lot   steps  epochs  noise multiplier  excess noise  with bands      time\n";
  for (const PlanRow& row : table.rows()) {
    const std::string bands = row.bands.bands == 1 ? "-" : fmt::format("{:.2f} ({})", row.excess_with_bands, row.bands.bands);
    text += fmt::format("{} {:>11} {:>9.4g} {:>7} {:>7.3g} {:>17.4g} {:>13.2f} {:>11} {:>9}\n", &row == &table.chosen() ? "*" : " ",
                        number_text(row.size.sample_rate), row.size.sample_rate * static_cast<double>(table.examples()), row.size.steps,
                        row.size.epochs(), row.noise.noise_multiplier, row.excess, bands, seconds_text(row.seconds));
  }
  fmt::print("{}\n", text);
  const RunSize& size = table.chosen().size;
  const std::string options = fmt::format("--sample-rate {} --steps {}", number_text(size.sample_rate), size.steps);
  print_text(
      table.is_what_train_takes()
          ? fmt::format("* is what fodp train takes by itself: {}, and a learning rate that fits them. It has {}.\n\n", options,
                        why(table, epochs))
          : fmt::format("* is the choice within these epochs: fodp train {}. Give a learning rate, too (--lr): those of fodp methods "
                        "are for the size that fodp train takes by itself. It has {}.\n\n",
                        options, why(table, epochs)));
  print_text(
      "Excess noise: how many times the noise of the best possible mechanism a run leaves in its parameters, at equal learning rate times "
      "steps; full batches have 1. With bands: the same with --method bandmf and the bands that it would choose. The noise multiplier is "
      "DP-SGD's. Times are measured on this machine for dense layers; convolutions take longer.\n\n");
  print_text(fmt::format("{}\n", kWarning));
}

void warn_about(const Budget& budget, std::int64_t examples) {
  if (budget.delta * static_cast<double>(examples) >= 1)
    note(fmt::format("fodp: warning: delta {} is not below 1/{} examples: it allows a mechanism that publishes one record outright\n",
                     number_text(budget.delta), examples));
  if (budget.epsilon > 10) note(fmt::format("fodp: warning: epsilon {} is above 10: a weak guarantee\n", number_text(budget.epsilon)));
}

}  // namespace

int plan(const Words& words) {
  PlanOptions options;
  Flags flags(
      "plan",
      "Which lots, how many steps and how much noise meet a budget, from public numbers only: a table with the time that each takes "
      "on this machine and the noise that it wastes, and the one that fodp train takes by itself. Reads no data.",
      kExample);
  flags.add("The plan", options);
  if (!flags.parse(words)) return 0;
  check_input(options.examples.has_value(), "--examples is missing; for example: {}", kExample);
  check_input(options.epsilon.has_value(), "--epsilon is missing; for example: {}", kExample);

  const Budget budget{*options.epsilon, options.delta.value_or(usual_delta(*options.examples))};
  const double epochs = options.epochs_most.value_or(usual_epochs(*options.examples, options.parameters));
  warn_about(budget, *options.examples);
  const PlanTable table(options, budget.delta, epochs);
  if (!flags.json()) return print_table(table, epochs), 0;

  nlohmann::ordered_json out = {{"examples", *options.examples}, {"parameters", options.parameters},
                                {"epsilon", budget.epsilon},     {"delta", budget.delta},
                                {"epochs_most", epochs},         {"gaussian_parameter", gaussian_distance(budget.epsilon, budget.delta)}};
  for (const PlanRow& row : table.rows()) out["choices"].push_back(row_json(row, table.examples()));
  out["chosen"] = row_json(table.chosen(), table.examples());
  out["chosen"]["why"] = why(table, epochs);
  out["warning"] = kWarning;
  print_json(out);
  return 0;
}

}  // namespace fodp::app
