#include "fodp/training/private_steps.h"

#include <cmath>

#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/data/sampling.h"
#include "fodp/gradients/mixing.h"
#include "fodp/mechanism/fractional.h"
#include "fodp/training/record.h"
#include "fodp/training/threads.h"

namespace fodp {
namespace {

RunKey run_key(const RunOptions& run) {
  return run.insecure_seed ? RunKey::from_insecure_seed(static_cast<std::uint64_t>(*run.insecure_seed)) : RunKey::from_system();
}

double norm(const std::vector<double>& values) {
  double squared = 0;
  for (double value : values) squared += value * value;
  return std::sqrt(squared);
}

}  // namespace

struct PrivateSteps::Parts {
  Parts(torch::nn::Module& model, RowLosses losses, TrainingRows training_rows, const Plan& run_plan)
      : plan(run_plan),
        rows(std::move(training_rows)),
        key(run_key(plan.options.run)),
        noise(key, Purpose::noise),
        sampler(rows.count, plan.sample_rate, plan.block_rows(), RandomStream(key, Purpose::sampling)),
        parameters(model),
        clipper(model, parameters, std::move(losses), plan.options.clip, kMostBlockRows),
        accountant(make_accountant(plan.options.privacy.accountant)),
        ledger(plan.budget ? std::make_unique<Ledger>(*plan.budget, *accountant) : std::make_unique<Ledger>()),
        method(plan.method->make()),
        mechanism(method->make_mechanism(plan.method_context())),
        update(method->make_update()) {
    check_input(rows.count == plan.train_examples, "the plan is for {} training examples, the data has {}", plan.train_examples,
                rows.count);
    check_input(parameters.size() == plan.parameters, "the plan is for {} trainable parameters, the model has {}", plan.parameters,
                parameters.size());
    check_privacy(clipper.slack() <= plan.slack, "the plan's slack {} is below the run's {}", plan.slack, clipper.slack());
    check_rows_do_not_mix(clipper, model, rows.gather(std::vector<std::int64_t>{0}));
    ledger->plan(plan.events);
    if (plan.options.run.insecure_diagnostics)
      if (auto* memory = dynamic_cast<FractionalMechanism*>(mechanism.get())) memory->keep_insecure_decomposition();
  }

  Plan plan;
  TrainingRows rows;
  RunKey key;
  RandomStream noise;
  PoissonSampler sampler;
  FlatParameters parameters;
  Clipper clipper;
  std::unique_ptr<Accountant> accountant;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Method> method;
  std::unique_ptr<Mechanism> mechanism;
  std::unique_ptr<Update> update;
  at::Tensor gradients;  // flat; the parameters' .grad are views of it
  std::uint64_t lots_drawn = 0;
  ClipDiagnostics insecure_clip;

  // The step that the last release belongs to, from 0.
  std::int64_t current_step() const { return (static_cast<std::int64_t>(ledger->count()) - 1) / plan.method->queries_per_step; }
};

PrivateSteps::PrivateSteps(torch::nn::Module& model, RowLosses losses, TrainingRows rows, const PrivateOptions& options)
    : PrivateSteps(model, std::move(losses), rows, make_plan(options.as_train_options(), {rows.count, 0}, count_trainable(model))) {}

PrivateSteps::PrivateSteps(torch::nn::Module& model, RowLosses losses, TrainingRows rows, const Plan& plan) {
  use_threads(*plan.options.speed.threads);
  parts_ = std::make_unique<Parts>(model, std::move(losses), std::move(rows), plan);
}

PrivateSteps::~PrivateSteps() = default;

bool PrivateSteps::done() const {
  return static_cast<std::int64_t>(parts_->ledger->count()) >= parts_->plan.steps * parts_->plan.method->queries_per_step;
}

void PrivateSteps::step() { parts_->method->step(*this); }

Lot PrivateSteps::sample() { return parts_->sampler.draw(parts_->lots_drawn++); }

ClippedSum PrivateSteps::clipped_sum(Lot lot) {
  Parts& p = *parts_;
  p.insecure_clip = {};
  return p.clipper.clipped_sum(lot.blocks(), lot.sample_rate(), p.rows.gather,
                               p.plan.options.run.insecure_diagnostics ? &p.insecure_clip : nullptr);
}

Release PrivateSteps::release(ClippedSum sum) {
  Parts& p = *parts_;
  Charge charge = p.ledger->charge(p.mechanism->event(sum));  // recorded before the release exists
  return p.mechanism->release(std::move(sum), std::move(charge), p.noise);
}

void PrivateSteps::update(const Release& release) {
  Parts& p = *parts_;
  const UpdateOptions& options = p.plan.options.update;
  const double lr = learning_rate(*options.lr, options.lr_decay, p.current_step(), p.plan.steps);
  p.update->apply(p.parameters.values(), release, p.plan.expected_lot, lr);
}

void PrivateSteps::set_gradients(const Release& release) {
  Parts& p = *parts_;
  if (!p.gradients.defined()) p.gradients = at::empty({p.parameters.size()}, at::kFloat);
  float* gradients = p.gradients.data_ptr<float>();
  const double scale = 1 / p.plan.expected_lot;
  for (std::size_t k = 0; k < release.values().size(); ++k) gradients[k] = static_cast<float>(release.values()[k] * scale);
  for (at::Tensor parameter : p.parameters.tensors()) parameter.mutable_grad() = p.parameters.place_of(parameter, p.gradients);
}

const Plan& PrivateSteps::plan() const { return parts_->plan; }
const Events& PrivateSteps::events() const { return parts_->ledger->events(); }
double PrivateSteps::epsilon() const { return parts_->accountant->epsilon(events(), plan().options.privacy.delta).epsilon; }

std::string PrivateSteps::statement() const {
  const double ideal_epsilon = parts_->accountant->epsilon(ideal(events()), plan().options.privacy.delta).epsilon;
  return privacy_statement(plan(), events(), epsilon(), ideal_epsilon);
}

PrivateSteps::InsecureDiagnostics PrivateSteps::insecure_diagnostics() const {
  const ClipDiagnostics& clip = parts_->insecure_clip;
  const double rows = static_cast<double>(std::max<std::int64_t>(1, clip.rows));
  InsecureDiagnostics view{.train_loss = clip.loss_sum / rows,
                           .clip_fraction = static_cast<double>(clip.clipped) / rows,
                           .mean_norm = clip.norm_sum / rows,
                           .largest_norm = clip.largest_norm};
  if (const auto* memory = dynamic_cast<const FractionalMechanism*>(parts_->mechanism.get())) {
    const Decomposition& parts = memory->insecure_decomposition();
    view.signal_norm = norm(parts.signal);
    view.memory_norm = norm(parts.memory);
    view.noise_memory_norm = norm(parts.noise_memory);
    view.noise_norm = norm(parts.noise);
  }
  return view;
}

}  // namespace fodp
