#include "fodp/training/plan.h"

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
  plan.expected_lot = records * plan.sample_rate;
  plan.steps_per_epoch = std::max<std::int64_t>(1, std::llround(1 / plan.sample_rate));
  plan.steps = privacy.steps.value_or(kDefaultSteps);
  if (privacy.epochs) {
    const double steps = std::round(*privacy.epochs * static_cast<double>(plan.steps_per_epoch));
    check_input(steps >= 1 && steps <= 1e9, "--epochs: {} gives {} steps; must be from 1 to 1e9", *privacy.epochs, steps);
    plan.steps = static_cast<std::int64_t>(steps);
  }
  plan.eval_every = plan.options.run.eval_every.value_or(plan.steps_per_epoch);
  privacy.sample_rate = plan.sample_rate;
  privacy.lot = plan.expected_lot;
  privacy.steps = plan.steps;
  privacy.epochs = static_cast<double>(plan.steps) / static_cast<double>(plan.steps_per_epoch);
  plan.options.run.eval_every = plan.eval_every;
}

Events events_of(const Plan& plan, double noise_multiplier) {
  MethodContext context = plan.method_context();
  context.noise_multiplier = noise_multiplier;
  const Event event = plan.method->make()->make_mechanism(context)->event(plan.sample_rate, plan.slack);
  return {{event, plan.steps}};
}

void resolve_noise(Plan& plan) {
  PrivacyOptions& privacy = plan.options.privacy;
  check_not_both(privacy.epsilon.has_value(), privacy.noise_multiplier.has_value(), "--epsilon and --noise-multiplier");
  const auto accountant = make_accountant(privacy.accountant);
  if (privacy.noise_multiplier) {
    plan.noise_multiplier = *privacy.noise_multiplier;
  } else {
    if (!privacy.epsilon) privacy.epsilon = kDefaultEpsilon;
    plan.budget = Budget{*privacy.epsilon, privacy.delta};
    plan.noise_multiplier =
        calibrate_noise_multiplier([&](double sigma) { return events_of(plan, sigma); }, *plan.budget, *accountant).noise_multiplier;
    privacy.noise_multiplier = plan.noise_multiplier;
  }
  plan.events = events_of(plan, plan.noise_multiplier);
  plan.spent = accountant->epsilon(plan.events, privacy.delta);
  plan.spent_ideal = accountant->epsilon(ideal(plan.events), privacy.delta);
}

// config.json says what was used, not what was left to default.
void resolve_rest(Plan& plan) {
  plan.options.speed.threads = plan.options.speed.threads.value_or(default_threads());
  if (!plan.method->uses_memory) return;
  FractionalOptions& memory = plan.options.memory;
  const double clip_norm = plan.options.clip.clip_norm;
  const double noise_norm = plan.noise_multiplier * clip_norm * std::sqrt(static_cast<double>(plan.parameters));
  const FractionalParameters used = resolve(memory, clip_norm, noise_norm);
  memory.beta = used.beta;
  memory.kappa = used.kappa;
  if (!memory.zeta) memory.zeta = ConfidenceScale{.value = used.zeta};
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
  if (plan.noise_multiplier == 0) plan.insecure.push_back("noise-multiplier 0: no noise hides the training data");
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
  if (plan.spent.epsilon > 10 && plan.noise_multiplier > 0)
    plan.warnings.push_back(fmt::format(
        "epsilon {:.4g} is above 10: a weak guarantee; more noise, fewer steps or a smaller sample rate lower it", plan.spent.epsilon));
}

}  // namespace

nlohmann::ordered_json to_json(const TrainOptions& options) {
  nlohmann::ordered_json out;
  TrainOptions::for_each_part(options, [&](std::string_view, const auto& part) { fields_to_json(part, out); });
  return out;
}

MethodContext Plan::method_context() const {
  return {.noise_multiplier = noise_multiplier, .clip_norm = options.clip.clip_norm, .parameters = parameters, .memory = options.memory};
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
  TrainOptions options{.privacy = privacy, .clip = clip, .update = update, .memory = memory, .speed = speed};
  options.run.method = method;
  options.run.insecure_seed = insecure_seed;
  options.data.data = data;
  return options;
}

std::int64_t count_trainable(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters())
    if (parameter.requires_grad()) count += parameter.numel();
  return count;
}

Plan make_plan(const TrainOptions& options, const DataSizes& sizes) {
  const DataFormat& format = find_data_source(options.data.data).format;
  const InputShape shape{format.channels, format.height, format.width, format.classes};
  return make_plan(options, sizes, count_trainable(*make_model(options.model, shape).module));
}

Plan make_plan(const TrainOptions& options, const DataSizes& sizes, std::int64_t parameters) {
  TrainOptions::for_each_part(options, [](std::string_view, const auto& part) { validate_fields(part); });
  check_input(sizes.train >= 1, "training data: no rows");
  Plan plan{.options = options,
            .method = &find_method(options.run.method),
            .train_examples = sizes.train,
            .test_examples = sizes.test,
            .parameters = parameters};
  plan.options.data.train_size = sizes.train;
  plan.options.data.test_size = sizes.test;
  plan.slack = sensitivity_slack(options.clip.clip_norm, plan.parameters, kMostBlockRows);
  plan.options.update.lr = options.update.lr.value_or(plan.method->default_lr);
  resolve_sampling(plan);
  resolve_noise(plan);
  resolve_rest(plan);
  resolve_seed(plan);
  find_insecurities(plan);
  find_warnings(plan);
  return plan;
}

}  // namespace fodp
