#include "fodp/training/plan.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/calibrate.h"
#include "fodp/base/check.h"
#include "fodp/features/feature_data.h"
#include "fodp/noise/lattice.h"
#include "fodp/training/model_file.h"
#include "fodp/training/threads.h"

namespace fodp {
namespace {

void check_not_both(bool a, bool b, const char* text) { check_input(!(a && b), "{}: give one of them", text); }

// What sums of a run cost, at its noise, asked of the mechanism that will release them, and what else the method asks for.
Events events_of(const Stages& stages, const RunContext& context) {
  const std::unique_ptr<Mechanism> mechanism = stages.release->make(context);
  const std::unique_ptr<Method> method = stages.method->make(context);
  const std::int64_t cycle = mechanism->cycle();
  const auto event_at = [&](std::int64_t step) {
    const double rate = static_cast<double>(cycle) * method->charged_rate(context.sample_rate.at(step, context.steps));
    return mechanism->event(step, std::min(1.0, rate), context.slack);
  };
  const NoiseSchedule& noise = mechanism->schedule();
  Events events;
  if (context.sample_rate.constant() && noise.noise_multiplier.constant() && noise.beta.constant()) {
    events.push_back({event_at(0), (context.steps + cycle - 1) / cycle});
  } else {
    constexpr std::int64_t kMostVaried = 1000000;
    check_input(context.steps <= kMostVaried, "`steps`: {} with a schedule, which is charged step by step: at most {}", context.steps,
                kMostVaried);
    for (std::int64_t step = 0; step < context.steps; step += cycle) {
      const Event event = event_at(step);
      if (!events.empty() && events.back().event == event)
        ++events.back().count;
      else
        events.push_back({event, 1});
    }
  }
  for (const Composed& part : method->more_events()) events.push_back(part);
  return events;
}

Events one_after_the_other(Events first, const Events& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

class Planner {
 public:
  Planner(const TrainOptions& options, const DataFacts& data, const torch::nn::Module& model, std::string_view model_name) {
    check_input(data.sizes.train >= 1, "training data: no rows");
    plan_.options_ = given_ = options;
    plan_.sizes_ = data.sizes;
    plan_.model_ = model_name;
    plan_.unit_ = data.unit;
    plan_.recipe_ = data.recipe;
    data_ = data;
    for (const OptionView& view : parts_of(plan_.options_)) view.part->validate(view.options);
    const std::vector<FlatParameters::Slice> slices = FlatParameters::slices_of(model);
    check_privacy(!slices.empty(), "the model has no trainable parameter: nothing to train");
    RunContext& context = plan_.context_;
    context.train_examples = data.sizes.train;
    context.parameters = slices.back().offset + slices.back().size;
    context.layers = FlatParameters::layers_of(slices);
    context.row_shape = data.row_shape;
  }

  Plan plan() {
    find_unread_options();
    plan_.stages_ = choose_stages(plan_.options_);
    if (data_.predicts_number && !given_.update.lr) plan_.options_.update.lr = lr_for_numbers(*plan_.options_.update.lr);
    resolve_clipping();
    resolve_sampling();
    resolve_delta();
    resolve_stages();
    resolve_tests();
    resolve_earlier();
    resolve_noise();
    resolve_lr();
    plan_.parts_ = make_parts(plan_.stages_, plan_.context_);
    resolve_rest();
    find_filled_options();
    find_insecurities();
    find_warnings();
    return std::move(plan_);
  }

 private:
  void resolve_clipping() {
    const ClipOptions& clip = plan_.options_.clip;
    const Stages& stages = plan_.stages_;
    RunContext& context = plan_.context_;
    context.clip_norm = clip.clip_norm;
    context.sensitivity = relative_sensitivity(clip.grouping(), context.layers.size());
    context.chosen = stages.chosen(clip.grouping());
    const double sensitivity = context.sensitivity * clip.clip_norm, reach = stages.clipping->traits.reach;
    check_input(
        sensitivity / reach >= 0x1p-40 && sensitivity * reach <= 0x1p40,
        "`clip-norm`: {} is not allowed: the norm of a whole gradient must stay in [2^-40, 2^40] (here it may move by a factor of {})",
        number_text(clip.clip_norm), reach);
    const bool length_varies = context.chosen.norm_moves || stages.method->weighs_rows;
    context.slack =
        length_varies ? largest_sensitivity_slack(kMostBlockRows) : sensitivity_slack(sensitivity, context.parameters, kMostBlockRows);
  }

  void resolve_sampling() {
    PrivacyOptions& privacy = plan_.options_.privacy;
    RunContext& context = plan_.context_;
    check_not_both(privacy.sample_rate.has_value(), privacy.lot.has_value(), "`sample-rate` and `lot`");
    check_not_both(privacy.steps.has_value(), privacy.epochs.has_value(), "`steps` and `epochs`");
    plan_.derived_ = {privacy.lot ? "sample_rate" : "lot", privacy.epochs ? "steps" : "epochs"};
    const RunSize planned = planned_size(context.train_examples, context.parameters);
    if (!privacy.sample_rate && !privacy.lot) plan_.derived_.push_back("sample_rate");
    if (!privacy.steps && !privacy.epochs) plan_.derived_.push_back("steps");
    const double records = static_cast<double>(context.train_examples);
    if (privacy.lot) {
      check_input(*privacy.lot <= records, "`lot`: {} is not allowed; there are {} training examples", *privacy.lot,
                  context.train_examples);
      context.sample_rate = *privacy.lot / records;
    } else {
      context.sample_rate = privacy.sample_rate.value_or(planned.sample_rate);
    }
    context.steps_per_epoch = std::max<std::int64_t>(1, std::llround(1 / context.sample_rate.first()));
    context.steps = privacy.steps.value_or(plan_.rate_is_planned() ? planned.steps : kPlannedSteps);
    if (privacy.epochs) {
      const double steps = std::round(*privacy.epochs * static_cast<double>(context.steps_per_epoch));
      check_input(steps >= 1 && steps <= 1e9, "`epochs`: {} gives {} steps; must be from 1 to 1e9", *privacy.epochs, steps);
      context.steps = static_cast<std::int64_t>(steps);
    }
    context.sample_rate.check_steps("`sample-rate`", context.steps);
    check_input(context.sample_rate.constant() || !plan_.method().own_sampling, "`sample-rate` {}: {} takes a rate that does not vary",
                context.sample_rate.text(), plan_.method().name);
    privacy.sample_rate = context.sample_rate;
    if (context.sample_rate.constant()) privacy.lot = context.expected_lot();
    privacy.steps = context.steps;
    privacy.epochs = static_cast<double>(context.steps) / static_cast<double>(context.steps_per_epoch);
  }

  void resolve_stages() {
    RunContext& context = plan_.context_;
    const PrivacyOptions& privacy = plan_.options_.privacy;
    context.target = {.epsilon = privacy.noise_multiplier ? 0 : privacy.epsilon.value_or(PrivacyOptions::kUsualEpsilon),
                      .delta = plan_.delta(),
                      .noise_multiplier = privacy.noise_multiplier.value_or(0)};
    plan_.stages_.fill(plan_.options_.own, context);
    context.options = plan_.options_.own;
    plan_.stages_.check(context);
  }

  void resolve_delta() {
    std::optional<double>& delta = plan_.options_.privacy.delta;
    if (delta) return;
    delta = usual_delta(plan_.train_examples());
    plan_.derived_.push_back("delta");
  }

  // Private test rows are looked at once, after the last step, unless more is asked for. A look costs so little that the noise of training
  // grows by a fiftieth, whatever the budget is.
  void resolve_tests() {
    std::optional<std::int64_t>& every = plan_.options_.run.eval_every;
    if (data_.test_is_public) return;  // private ones cost; how many they are may not be known yet
    const PrivacyOptions& privacy = plan_.options_.privacy;
    every = every.value_or(plan_.steps());
    plan_.tests_.releases = (plan_.steps() + *every - 1) / *every;
    constexpr double kShare = .2, kWithoutBudget = 20;  // of the Gaussian parameter of the budget; counts, where only the noise is given
    const double one = privacy.noise_multiplier
                           ? kWithoutBudget
                           : 1 / (kShare * gaussian_distance(privacy.epsilon.value_or(PrivacyOptions::kUsualEpsilon), plan_.delta()));
    plan_.tests_.noise = one * std::sqrt(static_cast<double>(plan_.tests_.releases));
  }

  void resolve_earlier() {
    plan_.earlier_ = earlier_runs(plan_.options_);
    check_same_unit(plan_.earlier_, plan_.unit_);
    const Events& events = plan_.earlier_.events;
    if (!events.empty()) plan_.spent_before_ = make_accountant(plan_.options_.privacy.accountant)->epsilon(events, plan_.delta());
  }

  Events events_at(const Schedule& noise_multiplier) const {
    RunContext context = plan_.context_;
    context.noise_multiplier = noise_multiplier;
    return with_tests(events_of(plan_.stages_, context));
  }

  Events with_tests(const Events& events) const { return one_after_the_other(events, plan_.tests_.events()); }

  void calibrate(const Accountant& accountant) {
    PrivacyOptions& privacy = plan_.options_.privacy;
    if (!privacy.epsilon) privacy.epsilon = PrivacyOptions::kUsualEpsilon;
    plan_.derived_.push_back("noise_multiplier");
    const Budget budget{*privacy.epsilon, plan_.delta()};
    // After a run without noise no budget holds any more. The run says that it is not private; its own steps get the noise they would have.
    const bool lost = std::isinf(plan_.spent_before_.epsilon);
    if (!lost) plan_.budget_ = budget;
    check_privacy(lost || plan_.spent_before_.epsilon < budget.epsilon, "{}", spent_already(budget));
    const Events before = lost ? Events() : plan_.earlier_.events;
    try {
      plan_.context_.noise_multiplier =
          calibrate_noise_multiplier([&](double sigma) { return one_after_the_other(before, events_at(sigma)); }, budget, accountant)
              .noise_multiplier;
    } catch (const InputError& error) {
      check_privacy(before.empty(), "{}; {}", error.what(), spent_already(budget));
      if (plan_.method().other_noise.empty()) throw;
      throw InputError(fmt::format("{} ({}'s other query takes its share: a larger `{}` makes it cheaper)", error.what(),
                                   plan_.method().name, plan_.method().other_noise));
    }
    privacy.noise_multiplier = plan_.noise_multiplier();
  }

  std::string spent_already(const Budget& budget) const {
    return fmt::format(
        "of the budget of epsilon {} at delta {}, earlier runs on these rows have spent epsilon {} ({}): allow a larger `epsilon`, start "
        "from "
        "other parameters or train on other rows; for parameters that owe nothing to these rows there is `init-public`",
        number_text(budget.epsilon), number_text(budget.delta), upper_text(plan_.spent_before_.epsilon), plan_.earlier_.names);
  }

  void take_noise(const Schedule& noise_multiplier) {
    noise_multiplier.check_steps("`noise-multiplier`", plan_.steps());
    check_input(noise_multiplier.constant() || noise_multiplier.least() > 0,
                "`noise-multiplier` {}: a step without noise makes the whole run public; give values above 0", noise_multiplier.text());
    check_input(noise_multiplier.constant() || !plan_.method().own_sampling, "`noise-multiplier` {}: {} takes one that does not vary",
                noise_multiplier.text(), plan_.method().name);
    plan_.context_.noise_multiplier = noise_multiplier;
    plan_.stages_.check(plan_.context_);
  }

  void resolve_noise() {
    const PrivacyOptions& privacy = plan_.options_.privacy;
    check_not_both(privacy.epsilon.has_value(), privacy.noise_multiplier.has_value(), "`epsilon` and `noise-multiplier`");
    const auto accountant = make_accountant(privacy.accountant);
    if (privacy.noise_multiplier)
      take_noise(*privacy.noise_multiplier);
    else
      calibrate(*accountant);
    plan_.own_events_ = with_tests(events_of(plan_.stages_, plan_.context_));
    plan_.events_ = one_after_the_other(plan_.earlier_.events, plan_.own_events_);
    plan_.spent_ = accountant->epsilon(plan_.events_, plan_.delta());
    plan_.spent_ideal_ = accountant->epsilon(ideal(plan_.events_), plan_.delta());
    const std::unique_ptr<Mechanism> mechanism = plan_.stages_.release->make(plan_.context_);
    plan_.context_.largest_effective_noise = mechanism->schedule().largest_effective();
    plan_.context_.end_noise = mechanism->end_noise(plan_.steps());
    plan_.stages_.check(plan_.context_);
  }

  // The learning rate of a run of the planned size, whether that was given or not, is planned with it, unless it is given; so is that of a
  // linear model of features.
  void resolve_lr() {
    if (data_.linear_of_unit_norm && !given_.update.lr) {
      const std::optional<double> rate = unit_norm_lr(plan_.stages_, plan_.context_);
      if (rate) plan_.options_.update.lr = rate;
      plan_.lr_is_planned_ = rate.has_value();
      return;
    }
    const RunSize planned = planned_size(plan_.context_.train_examples, plan_.context_.parameters);
    const Schedule& rate = plan_.context_.sample_rate;
    if (given_.update.lr || !rate.constant() || rate.first() != planned.sample_rate || plan_.steps() != planned.steps) return;
    plan_.options_.update.lr = planned_lr(*plan_.options_.update.lr, plan_.stages_, plan_.context_);
  }

  // config.json says what was used, not what was left to default.
  void resolve_rest() {
    TrainOptions& options = plan_.options_;
    const std::optional<std::int64_t>& held_out = options.data.insecure_validation;
    if (!find_data_kind(options.data.data)) {
      options.data.train_size = plan_.sizes_.train + held_out.value_or(0);
      if (!held_out) options.data.test_size = plan_.sizes_.test;
    }
    options.speed.threads = options.speed.threads.value_or(default_threads());
    options.run.eval_every = options.run.eval_every.value_or(plan_.steps_per_epoch());
    RunOptions& run = options.run;
    check_not_both(run.init.has_value(), run.init_seed.has_value(), "`init` and `init-seed`");
    if (run.init || run.init_seed) return;
    // Initial values are public: the seed is recorded so that a run can be repeated up to its noise.
    run.init_seed = options.insecure_seed ? *options.insecure_seed : static_cast<std::int64_t>(std::random_device()());
  }

  void find_insecurities() {
    const TrainOptions& options = plan_.options_;
    if (plan_.noiseless())
      plan_.insecure_.push_back("noise-multiplier 0: no noise hides the training data");
    else if (std::isinf(plan_.spent_.epsilon) && plan_.earlier_.insecure.empty())
      plan_.insecure_.push_back("epsilon is infinite: there is too little noise to hide the training data");
    if (options.insecure_seed) plan_.insecure_.push_back("insecure-seed: whoever knows the seed can remove the noise");
    if (options.insecure_diagnostics) plan_.insecure_.push_back("insecure-diagnostics: un-noised views of the training data are reported");
    if (options.data.insecure_validation)
      plan_.insecure_.push_back("insecure-validation: held-out training rows are tested on without noise");
    for (const std::string& reason : plan_.earlier_.insecure) plan_.insecure_.push_back(reason);
  }

  // Options of stages that were set, before any default is filled in.
  void find_unread_options() {
    TrainOptions& options = plan_.options_;
    for (const OptionView& view : parts_of(options))
      for (const OptionField& field : view.part->fields)
        if (options.own.look(*view.part) == view.options && field.value(view.options) != field.value(view.part->defaults.get()))
          set_.push_back(field.name);
  }

  void find_filled_options() {
    TrainOptions& options = plan_.options_;
    const std::vector<OptionView> now = parts_of(options), before = parts_of(given_);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const bool of_stages =
          now[i].options == &options.stages || now[i].options == &options.update || options.own.look(*now[i].part) == now[i].options;
      for (const OptionField& field : now[i].part->fields)
        if (of_stages && field.value(now[i].options) != field.value(before[i].options)) plan_.filled_.push_back(json_name(field.name));
    }
  }

  void find_privacy_warnings() {
    std::vector<std::string>& warnings = plan_.privacy_warnings_;
    const double delta = plan_.delta(), records_lost = delta * static_cast<double>(plan_.train_examples());
    if (records_lost >= 1)
      warnings.push_back(
          fmt::format("delta {} is not below 1/{} examples: it allows a mechanism that publishes one record outright; choose a smaller one",
                      number_text(delta), plan_.train_examples()));
    else if (records_lost >= .1 && !plan_.derives("delta"))  // the default may be a tenth of 1/examples, and is no more
      warnings.push_back(fmt::format("delta {} is not well below 1/{} examples: a tenth of that or less is usual; choose a smaller one",
                                     number_text(delta), plan_.train_examples()));
    if (plan_.spent_.epsilon > 10 && !plan_.noiseless() && !std::isinf(plan_.spent_before_.epsilon))
      warnings.push_back(fmt::format(
          "epsilon {:.4g} is above 10: a weak guarantee; more noise, fewer steps or a smaller sample rate lower it", plan_.spent_.epsilon));
    constexpr double kLeastNoise = .1;  // of the sensitivity: below, a row that is drawn can be read from the release
    const bool faint =
        std::ranges::any_of(plan_.own_events_, [](const Composed& part) { return part.event.noise_multiplier < kLeastNoise; });
    if (faint && plan_.insecure_.empty())
      warnings.push_back(fmt::format(
          "noise is below {} of the sensitivity: a row that is drawn is all but published, and the guarantee rests on delta "
          "{} alone, the chance that this happens; choose a smaller delta, or a larger lot or more steps, which raise the noise",
          kLeastNoise, number_text(delta)));
    const std::optional<StartedFrom>& start = plan_.earlier_.started_from;
    if (start && start->cost == StartCost::unknown)
      warnings.push_back(fmt::format(
          "the training starts from {}, which does not say what its parameters cost: the guarantee holds only if these training "
          "rows had no part in them",
          start->file));
  }

  void find_warnings() {
    find_privacy_warnings();
    std::vector<std::string>& warnings = plan_.warnings_ = plan_.privacy_warnings_;
    const Chosen& chosen = plan_.context_.chosen;
    if (!plan_.options_.run.class_weights.empty() && plan_.stages_.clipping->traits.same_length)
      warnings.push_back(
          fmt::format("`class-weights` has next to no effect with `clipping` {}, which scales every gradient to about the same length",
                      chosen.clipping));
    for (std::string_view option : set_)
      if (!plan_.stages_.reads(option))
        warnings.push_back(fmt::format("`{}` has no effect on {} with release {}, filter {}, update {}, clipping {}, averaging {}", option,
                                       chosen.method, chosen.release, chosen.filter, chosen.update, chosen.clipping, chosen.averaging));
  }

  Plan plan_;
  TrainOptions given_;
  std::vector<std::string_view> set_;  // options of stages that differ from their defaults
  DataFacts data_;
};

bool Plan::derives(std::string_view option) const { return std::ranges::find(derived_, option) != derived_.end(); }

std::int64_t Plan::block_rows() const { return std::min(options_.speed.physical_batch, train_examples()); }

InputShape shape_for_model(const DataDescription& about) {
  InputShape shape = InputShape::of(about.row_shape, about.target.kind == Target::Kind::classes ? about.target.classes : 1);
  shape.unit_norm = about.unit_norm;
  return shape;
}

Plan make_plan(const TrainOptions& options, const DataSizes& sizes) {
  const DataDescription about = describe_with_features(options.data);
  TrainOptions named = options;
  named.data_name = about.name;
  check_class_weights(options.run.class_weights, about.target, about.class_names);
  const std::string recipe = find_data_kind(options.data.data) || has_features(options.data) ? about.inputs.dump() : "";
  DataFacts facts{sizes, about.row_shape, about.unit, about.test_is_public, about.target.kind == Target::Kind::number};
  facts.linear_of_unit_norm = about.unit_norm && options.model.model == ModelKind::linear;
  facts.recipe = recipe;
  const Model model = make_model(options.model, shape_for_model(about));
  if (options.run.init) load_parameters(*options.run.init, *model.module);  // a file that does not fit is bad input before it is a cost
  return Planner(named, facts, *model.module, enum_name(options.model.model)).plan();
}

Plan make_plan(const TrainOptions& options, const DataFacts& data, const torch::nn::Module& model) {
  return Planner(options, data, model, "own").plan();
}

}  // namespace fodp
