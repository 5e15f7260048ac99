#include "fodp/training/plan.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "fodp/accounting/calibrate.h"
#include "fodp/base/check.h"
#include "fodp/noise/lattice.h"
#include "fodp/training/threads.h"

namespace fodp {
namespace {

constexpr double kDefaultEpsilon = 3, kDefaultSampleRate = .0171;
constexpr std::int64_t kDefaultSteps = 585;

void check_not_both(bool a, bool b, const char* text) { check_input(!(a && b), "{}: give one of them", text); }

// Fills in what was left open and the method has a default of its own for.
template <class Part>
void apply_method_defaults(Part& part, const MethodEntry& method) {
  for_each_field(part, [&](const auto& field, auto& value) {
    if constexpr (requires { value.has_value(); }) {
      const std::string_view standard = method.standard(field.name);
      if (!value && !standard.empty()) value = FieldText<std::remove_cvref_t<decltype(value)>>::parse(standard, field.name, field.range);
    }
  });
}

void check_stages(const Plan& plan) {
  const Stages& stages = plan.stages;
  const std::string_view method = plan.method->name;
  const MethodOptions& options = plan.options;
  check_input(!plan.method->needs_adaptive_clipping || stages.clipping == Clipping::adaptive,
              "--clipping {}: {} is made of adaptive clipping; without it, use dp-adamw", enum_name(stages.clipping), method);
  const bool whole = options.clip.grouping() == GroupClip::whole;
  check_input(
      stages.own != OwnOptions::importance || (whole && stages.clipping != Clipping::adaptive),
      "--clipping {} --group-clip {}: {} keeps rows by the norm of their whole gradient against one clip norm; use flat or automatic, "
      "and whole",
      enum_name(stages.clipping), enum_name(options.clip.grouping()), method);
  if (stages.update == UpdateKind::adambc) {
    check_input(stages.filter == FilterKind::none,
                "--update adambc --filter {}: the noise in a filtered gradient is not known; use --filter none or --update adam",
                enum_name(stages.filter));
    check_input(stages.release != ReleaseKind::spectral,
                "--update adambc --release spectral: the noise in such a release is not known; use --update adam");
  }
  check_input(options.memory.denoise == Denoise::none || stages.release == ReleaseKind::fractional,
              "--denoise {}: it acts on the memory of --release fractional, not on {}", enum_name(options.memory.denoise),
              enum_name(stages.release));
  if (stages.read(options.memory)) {
    options.memory.beta_schedule().check_steps("--beta", plan.steps);
    if (stages.release == ReleaseKind::spectral)
      check_input(options.memory.kernel == Kernel::confidence, "--kernel {}: --release spectral has a kernel of its own",
                  enum_name(options.memory.kernel));
  }
}

void check_sampling(const Plan& plan) {
  const bool varies = !plan.sample_rate.constant();
  check_input(!(varies && plan.method->own_sampling), "--sample-rate {}: {} takes a rate that does not vary", plan.sample_rate.text(),
              plan.method->name);
  if (plan.stages.release != ReleaseKind::banded) return;
  const double bands = static_cast<double>(plan.options.bands.count());
  check_input(!plan.method->own_sampling && plan.method->sums_per_step == 1,
              "--release banded: {} asks for more than one sum of a cyclic lot a step, which its correlated noise does not cover",
              plan.method->name);
  check_input(!varies, "--sample-rate {}: --release banded takes a rate that does not vary", plan.sample_rate.text());
  check_input(bands * plan.sample_rate.first() <= 1,
              "--bands {}: at --sample-rate {} each group would be sampled at rate {}; bands times rate must be at most 1",
              plan.options.bands.count(), number_text(plan.sample_rate.first()), number_text(bands * plan.sample_rate.first()));
}

void resolve_sampling(Plan& plan) {
  PrivacyOptions& privacy = plan.options.privacy;
  check_not_both(privacy.sample_rate.has_value(), privacy.lot.has_value(), "--sample-rate and --lot");
  check_not_both(privacy.steps.has_value(), privacy.epochs.has_value(), "--steps and --epochs");
  const double records = static_cast<double>(plan.train_examples);
  if (privacy.lot) {
    check_input(*privacy.lot <= records, "--lot: {} is not allowed; there are {} training examples", *privacy.lot, plan.train_examples);
    plan.sample_rate = *privacy.lot / records;
  } else {
    plan.sample_rate = privacy.sample_rate.value_or(kDefaultSampleRate);
  }
  plan.steps_per_epoch = std::max<std::int64_t>(1, std::llround(1 / plan.sample_rate.first()));
  plan.steps = privacy.steps.value_or(kDefaultSteps);
  if (privacy.epochs) {
    const double steps = std::round(*privacy.epochs * static_cast<double>(plan.steps_per_epoch));
    check_input(steps >= 1 && steps <= 1e9, "--epochs: {} gives {} steps; must be from 1 to 1e9", *privacy.epochs, steps);
    plan.steps = static_cast<std::int64_t>(steps);
  }
  plan.sample_rate.check_steps("--sample-rate", plan.steps);
  plan.eval_every = plan.options.run.eval_every.value_or(plan.steps_per_epoch);
  privacy.sample_rate = plan.sample_rate;
  if (plan.sample_rate.constant()) privacy.lot = plan.expected_lot().first();
  privacy.steps = plan.steps;
  privacy.epochs = static_cast<double>(plan.steps) / static_cast<double>(plan.steps_per_epoch);
  plan.options.run.eval_every = plan.eval_every;
}

// Of the sums and whatever else the method asks for, at this noise multiplier.
Events events_of(const Plan& plan, const Schedule& noise_multiplier) {
  const ReleaseContext context = plan.release_context(noise_multiplier);
  const NoiseSchedule noise = context.schedule();
  const std::unique_ptr<Method> method = plan.method->make(plan.method_context(noise_multiplier));
  const double cycle = static_cast<double>(context.cycle());
  const auto event_at = [&](std::int64_t step) {
    const double rate = method->charged_rate(plan.sample_rate.at(step, plan.steps));
    return Event::poisson_gaussian(std::min(1.0, cycle * rate), noise.effective(step), plan.slack);
  };
  Events events;
  if (plan.sample_rate.constant() && noise.noise_multiplier.constant() && noise.beta.constant()) {
    events.push_back({event_at(0), (plan.steps + context.cycle() - 1) / context.cycle()});
  } else {
    constexpr std::int64_t kMostVaried = 1000000;
    check_input(plan.steps <= kMostVaried, "--steps: {} with a schedule, which is charged step by step: at most {}", plan.steps,
                kMostVaried);
    for (std::int64_t step = 0; step < plan.steps; step += context.cycle()) {
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

void resolve_noise(Plan& plan) {
  PrivacyOptions& privacy = plan.options.privacy;
  check_not_both(privacy.epsilon.has_value(), privacy.noise_multiplier.has_value(), "--epsilon and --noise-multiplier");
  const auto accountant = make_accountant(privacy.accountant);
  if (privacy.noise_multiplier) {
    plan.noise_multiplier = *privacy.noise_multiplier;
    plan.noise_multiplier.check_steps("--noise-multiplier", plan.steps);
    check_input(plan.noise_multiplier.constant() || plan.noise_multiplier.least() > 0,
                "--noise-multiplier {}: a step without noise makes the whole run public; give values above 0",
                plan.noise_multiplier.text());
    check_input(plan.noise_multiplier.constant() || (plan.stages.release != ReleaseKind::banded && !plan.method->own_sampling),
                "--noise-multiplier {}: {} with release {} takes one that does not vary", plan.noise_multiplier.text(), plan.method->name,
                enum_name(plan.stages.release));
  } else {
    if (!privacy.epsilon) privacy.epsilon = kDefaultEpsilon;
    plan.budget = Budget{*privacy.epsilon, privacy.delta};
    try {
      plan.noise_multiplier =
          calibrate_noise_multiplier([&](double sigma) { return events_of(plan, sigma); }, *plan.budget, *accountant).noise_multiplier;
    } catch (const InputError& error) {
      if (!plan.method->own_sampling) throw;
      const char* option = plan.stages.own == OwnOptions::importance ? "--norm-noise" : "--loss-noise";
      throw InputError(
          fmt::format("{} ({}'s other query takes its share: a larger {} makes it cheaper)", error.what(), plan.method->name, option));
    }
    privacy.noise_multiplier = plan.noise_multiplier;
  }
  plan.events = events_of(plan, plan.noise_multiplier);
  plan.spent = accountant->epsilon(plan.events, privacy.delta);
  plan.spent_ideal = accountant->epsilon(ideal(plan.events), privacy.delta);
}

// The gradient must be left some of what is charged for sum and count together.
void check_count_noise(const Plan& plan) {
  if (plan.stages.clipping != Clipping::adaptive || plan.noiseless()) return;
  const NoiseSchedule noise = plan.release_context(plan.noise_multiplier).schedule();
  const double share = std::sqrt(static_cast<double>(plan.method->sums_per_step));
  const double most = share * noise.noise_multiplier.largest() / (noise.beta.least() * noise.sensitivity);
  check_input(
      most < *plan.count_multiplier(),
      "--count-noise {}: adaptive clipping's count is noised at {} times its sensitivity, the whole release is charged at {}: nothing "
      "is left for the gradient; give --count-noise above {}, a larger lot or less noise",
      number_text(*plan.options.adaptive.count_noise), number_text(*plan.count_multiplier()), number_text(most), number_text(most / 2));
}

// config.json says what was used, not what was left to default.
void resolve_rest(Plan& plan) {
  TrainOptions& options = plan.options;
  options.speed.threads = options.speed.threads.value_or(default_threads());
  const Stages& stages = plan.stages;
  if (!stages.read(options.memory)) return;
  FractionalOptions& memory = options.memory;
  const double clip_norm = options.clip.clip_norm;
  const double noise_norm = plan.noise_multiplier.first() * clip_norm * std::sqrt(static_cast<double>(plan.parameters));
  const FractionalParameters used = resolve(memory, clip_norm, noise_norm);
  memory.beta = memory.beta_schedule();
  memory.kappa = used.kappa;
  if (!memory.zeta) memory.zeta = ConfidenceScale{.value = used.zeta};
  if (!memory.stability) memory.stability = stages.release == ReleaseKind::spectral ? 1e-8 : used.stability;
}

void resolve_seed(Plan& plan) {
  RunOptions& run = plan.options.run;
  check_not_both(run.init.has_value(), run.init_seed.has_value(), "--init and --init-seed");
  if (run.init || run.init_seed) return;
  // Initial values are public: the seed is recorded so that a run can be repeated up to its noise.
  run.init_seed = run.insecure_seed ? *run.insecure_seed : static_cast<std::int64_t>(std::random_device()());
}

void find_insecurities(Plan& plan) {
  const RunOptions& run = plan.options.run;
  if (plan.noiseless()) plan.insecure.push_back("noise-multiplier 0: no noise hides the training data");
  if (run.insecure_seed) plan.insecure.push_back("insecure-seed: whoever knows the seed can remove the noise");
  if (run.insecure_diagnostics) plan.insecure.push_back("insecure-diagnostics: un-noised views of the training data are reported");
}

void find_warnings(Plan& plan) {
  const double delta = plan.options.privacy.delta;
  if (delta >= 1 / static_cast<double>(plan.train_examples))
    plan.warnings.push_back(
        fmt::format("delta {} is not below 1/{} examples: it allows a mechanism that publishes one record outright; choose a smaller "
                    "--delta",
                    number_text(delta), plan.train_examples));
  if (plan.spent.epsilon > 10 && !plan.noiseless())
    plan.warnings.push_back(fmt::format(
        "epsilon {:.4g} is above 10: a weak guarantee; more noise, fewer steps or a smaller sample rate lower it", plan.spent.epsilon));
}

}  // namespace

nlohmann::ordered_json to_json(const TrainOptions& options) {
  nlohmann::ordered_json out;
  TrainOptions::for_each_part(options, [&](std::string_view, const auto& part) { fields_to_json(part, out); });
  return out;
}

MethodContext Plan::method_context(const Schedule& sigma) const {
  return {.train_examples = train_examples,
          .steps = steps,
          .steps_per_epoch = steps_per_epoch,
          .sample_rate = sample_rate.first(),
          .expected_lot = expected_lot().first(),
          .clip_norm = options.clip.clip_norm,
          .noise_multiplier = sigma.first(),
          .sharpness = options.sharpness,
          .kalman = options.kalman,
          .annealing = options.annealing,
          .importance = options.importance};
}

ReleaseContext Plan::release_context(const Schedule& sigma) const {
  const bool each = options.clip.grouping() == GroupClip::each;
  return {.kind = stages.release,
          .noise_multiplier = sigma,
          .sample_rate = sample_rate,
          .steps = steps,
          .sensitivity = each ? std::sqrt(static_cast<double>(layers.size())) : 1,
          .clip_norm = options.clip.clip_norm,
          .memory = options.memory,
          .spectral = options.spectral,
          .bands = options.bands,
          .layers = layers,
          .needs_noise_variance = stages.update == UpdateKind::adambc};
}

// Of releases in units of sums: dividing kappa and zeta by L (methods.md 3) leaves them as they are, and multiplies the stability constant.
FractionalParameters Plan::filter_memory() const {
  const double noise_norm = noise_multiplier.first() * options.clip.clip_norm * std::sqrt(static_cast<double>(parameters));
  FractionalParameters memory = resolve(options.memory, options.clip.clip_norm, noise_norm);
  memory.stability *= expected_lot().first();
  return memory;
}

std::optional<double> Plan::count_multiplier() const {
  if (stages.clipping != Clipping::adaptive) return {};
  constexpr double kSensitivity = .5;
  return *options.adaptive.count_noise / kSensitivity;
}

std::int64_t Plan::block_rows() const { return std::min(options.speed.physical_batch, train_examples); }

InputShape Plan::input_shape() const {
  const DataFormat& format = find_data_source(options.data.data).format;
  return {format.channels, format.height, format.width, format.classes};
}

DataSizes announced_sizes(const DataOptions& options) {
  const DataFormat& format = find_data_source(options.data).format;
  return {options.train_size.value_or(format.train_examples), options.test_size.value_or(format.test_examples)};
}

TrainOptions PrivateOptions::as_train_options() const {
  TrainOptions options;
  options.stages = stages;
  options.clip = clip;
  options.adaptive = adaptive;
  options.update = update;
  options.momentum = momentum;
  options.adam = adam;
  options.low_pass = low_pass;
  options.kalman = kalman;
  options.averaging = averaging;
  options.memory = memory;
  options.spectral = spectral;
  options.bands = bands;
  options.sharpness = sharpness;
  options.annealing = annealing;
  options.importance = importance;
  options.privacy = privacy;
  options.speed = speed;
  options.run.method = method;
  options.run.insecure_seed = insecure_seed;
  options.data.data = data;
  return options;
}

namespace {

bool adam_like(UpdateKind kind) { return kind == UpdateKind::adam || kind == UpdateKind::adambc || kind == UpdateKind::adamw; }

// The method's own with the method's own stages; else what suits the update rule and the filter (docs/experiments.md has the grid).
double default_lr(const MethodOptions& options, const MethodEntry& method) {
  const auto slow = [&](FilterKind filter) { return filter == FilterKind::low_pass && options.low_pass.filter_order == 2; };
  const UpdateKind update = options.stages.update.value_or(method.update);
  const FilterKind filter = options.stages.filter.value_or(method.filter);
  const bool own_filter = slow(filter) == (method.filter == FilterKind::low_pass);
  if (adam_like(update) == adam_like(method.update) && own_filter)
    return FieldText<double>::parse(method.standard("lr"), "lr", at_least(0));
  return adam_like(update) ? .005 : slow(filter) ? .02 : 4;
}

}  // namespace

Stages resolve_stages(MethodOptions& options, const MethodEntry& method) {
  if (!options.update.lr) options.update.lr = default_lr(options, method);
  MethodOptions::for_each_part(options, [&](std::string_view, auto& part) { apply_method_defaults(part, method); });
  StageOptions& stages = options.stages;
  if (!stages.release) stages.release = method.release;
  if (!stages.filter) stages.filter = method.filter;
  if (!stages.update) stages.update = method.update;
  options.clip.clipping = options.clip.rule();
  const bool layered = stages.release == ReleaseKind::spectral && method.own != OwnOptions::importance;
  if (!options.clip.group_clip) options.clip.group_clip = layered ? GroupClip::shared : GroupClip::whole;
  options.adaptive.clip_target = options.adaptive.clip_target.value_or(.5);
  options.averaging.averaging = options.averaging.kind();
  return {.release = *stages.release,
          .filter = *stages.filter,
          .update = *stages.update,
          .clipping = *options.clip.clipping,
          .averaging = *options.averaging.averaging,
          .own = method.own};
}

Plan make_plan(const TrainOptions& options, const DataSizes& sizes) {
  const DataFormat& format = find_data_source(options.data.data).format;
  const InputShape shape{format.channels, format.height, format.width, format.classes};
  return make_plan(options, sizes, *make_model(options.model, shape).module);
}

Plan make_plan(const TrainOptions& options, const DataSizes& sizes, const torch::nn::Module& model) {
  TrainOptions::for_each_part(options, [](std::string_view, const auto& part) { validate_fields(part); });
  check_input(sizes.train >= 1, "training data: no rows");
  const std::vector<FlatParameters::Slice> slices = FlatParameters::slices_of(model);
  check_privacy(!slices.empty(), "the model has no trainable parameter: nothing to train");
  Plan plan{.options = options,
            .method = &find_method(options.run.method),
            .train_examples = sizes.train,
            .test_examples = sizes.test,
            .parameters = slices.back().offset + slices.back().size,
            .layers = FlatParameters::layers_of(slices)};
  plan.stages = resolve_stages(plan.options, *plan.method);
  plan.options.run.method = plan.method->name;
  plan.options.data.train_size = sizes.train;
  plan.options.data.test_size = sizes.test;
  const double sensitivity = plan.release_context(0).sensitivity * options.clip.clip_norm;
  const double reach = plan.stages.clipping == Clipping::adaptive ? 100 : 1;  // how far it may move
  check_input(
      sensitivity / reach >= 0x1p-40 && sensitivity * reach <= 0x1p40,
      "--clip-norm: {} is not allowed: the norm of a whole gradient must stay in [2^-40, 2^40] (adaptive clipping may move it by a factor "
      "of 100)",
      number_text(options.clip.clip_norm));
  const bool norm_varies = plan.stages.clipping == Clipping::adaptive || plan.stages.own == OwnOptions::importance;
  plan.slack = norm_varies ? largest_sensitivity_slack(kMostBlockRows) : sensitivity_slack(sensitivity, plan.parameters, kMostBlockRows);
  resolve_sampling(plan);
  if (!plan.options.bands.bands)
    plan.options.bands.bands =
        static_cast<std::int64_t>(std::clamp(std::floor(1 / plan.sample_rate.first()), 1.0, static_cast<double>(BandOptions().count())));
  check_stages(plan);
  check_sampling(plan);
  if (!plan.options.importance.norm_floor)
    plan.options.importance.norm_floor = static_cast<double>(sizes.train) * options.clip.clip_norm / 2;
  if (!plan.options.adaptive.count_noise) plan.options.adaptive.count_noise = plan.expected_lot().first() / 20;
  resolve_noise(plan);
  check_count_noise(plan);
  resolve_rest(plan);
  resolve_seed(plan);
  find_insecurities(plan);
  find_warnings(plan);
  return plan;
}

}  // namespace fodp
