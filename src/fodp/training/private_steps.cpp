#include "fodp/training/private_steps.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/data/sampling.h"
#include "fodp/gradients/adaptive_clip.h"
#include "fodp/gradients/mixing.h"
#include "fodp/mechanism/fractional.h"
#include "fodp/mechanism/gaussian.h"
#include "fodp/mechanism/release_options.h"
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
        acceptance(key, Purpose::acceptance),
        sampler(rows.count, plan.block_rows(), RandomStream(key, Purpose::sampling)),
        parameters(model),
        clipper(model, parameters, std::move(losses), plan.options.clip, kMostBlockRows),
        adaptive(plan.options.clip.clip_norm, plan.options.adaptive),
        accountant(make_accountant(plan.options.privacy.accountant)),
        ledger(plan.budget ? std::make_unique<Ledger>(*plan.budget, *accountant) : std::make_unique<Ledger>()),
        method(plan.method->make(plan.method_context(plan.noise_multiplier))),
        update(make_update(plan.stages.update, plan.options.momentum, plan.options.adam)),
        average(plan.options.averaging) {
    check_input(rows.count == plan.train_examples, "the plan is for {} training examples, the data has {}", plan.train_examples,
                rows.count);
    check_input(parameters.size() == plan.parameters, "the plan is for {} trainable parameters, the model has {}", plan.parameters,
                parameters.size());
    check_privacy(clipper.slack() <= plan.slack, "the plan's slack {} is below the run's {}", plan.slack, clipper.slack());
    check_rows_do_not_mix(clipper, model, rows.gather(std::vector<std::int64_t>{0}));
    if (plan.stages.filter != FilterKind::none)
      filter = make_filter(plan.stages.filter, plan.options.low_pass, plan.options.kalman, plan.filter_memory(),
                           plan.options.memory.beta_schedule(), plan.steps);
    // Each query of a step has a mechanism, and with it a memory, of its own.
    for (std::int64_t query = 0; query < plan.method->sums_per_step; ++query)
      mechanisms.push_back(make_mechanism(plan.release_context(plan.noise_multiplier)));
    ledger->plan(plan.events);
    if (plan.options.run.insecure_diagnostics)
      for (const auto& mechanism : mechanisms)
        if (auto* memory = dynamic_cast<FractionalMechanism*>(mechanism.get())) memory->keep_insecure_decomposition();
  }

  Plan plan;
  TrainingRows rows;
  RunKey key;
  RandomStream noise, acceptance;
  PoissonSampler sampler;
  FlatParameters parameters;
  Clipper clipper;
  AdaptiveClip adaptive;
  std::unique_ptr<Accountant> accountant;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Method> method;
  std::vector<std::unique_ptr<Mechanism>> mechanisms;
  std::unique_ptr<Filter> filter;  // none if releases go to the update as they are
  std::unique_ptr<Update> update;
  WeightAverage average;
  bool in_step = false;

  std::optional<Charge> charge;  // of the rows that the last sum was made of
  std::uint64_t charged_ticket = 0;
  std::int64_t sums_released = 0;
  std::uint64_t lots_drawn = 0;
  std::vector<float> moved_from;  // the parameters, while they are moved
  at::Tensor gradients;           // flat; the parameters' .grad are views of it
  ClipDiagnostics insecure_clip;

  // The step that the next sum belongs to, from 0; beyond the plan, the last one's numbers go on.
  std::int64_t present_step() const { return std::min(sums_released / plan.method->sums_per_step, plan.steps - 1); }
  // The step that the last sum belonged to.
  std::int64_t released_step() const {
    return std::min(std::max<std::int64_t>(0, sums_released - 1) / plan.method->sums_per_step, plan.steps - 1);
  }
  std::span<const float> unmoved() { return moved_from.empty() ? std::span<const float>(parameters.values()) : moved_from; }

  ClipRequest request() const {
    if (plan.stages.clipping != Clipping::adaptive) return {};
    return {.clip_norm = adaptive.clip_norm(), .count_noise = plan.count_multiplier()};
  }

  void check_own(const Draw& draw) const {
    check_privacy(draw.source == sampler.id(), "these rows were drawn by another run: its ledger would not know of their release");
  }

  void take_sum(const Lot& lot) const {
    check_own(lot.draw());
    lot.take_sum();
  }

  ClippedSum sum_of(const Lot& lot, const ClipRequest& request) {
    take_sum(lot);
    return clipper.clipped_sum(lot.blocks(), lot.draw(), rows.gather, request,
                               plan.options.run.insecure_diagnostics ? &insecure_clip : nullptr);
  }
};

PrivateSteps::PrivateSteps(torch::nn::Module& model, RowLosses losses, TrainingRows rows, const PrivateOptions& options)
    : PrivateSteps(model, std::move(losses), rows, make_plan(options.as_train_options(), {rows.count, 0}, model)) {}

PrivateSteps::PrivateSteps(torch::nn::Module& model, RowLosses losses, TrainingRows rows, const Plan& plan) {
  use_threads(*plan.options.speed.threads);
  parts_ = std::make_unique<Parts>(model, std::move(losses), std::move(rows), plan);
}

PrivateSteps::~PrivateSteps() = default;

bool PrivateSteps::done() const { return parts_->sums_released >= parts_->plan.steps * parts_->plan.method->sums_per_step; }

void PrivateSteps::step() {
  Parts& p = *parts_;
  p.in_step = true;
  p.method->step(*this);
  p.in_step = false;
  p.average.add(p.parameters.values());
}

Lot PrivateSteps::sample(const LotOptions& options) {
  Parts& p = *parts_;
  const std::int64_t step = p.present_step(), cycle = p.mechanisms.front()->cycle();
  const double rate = options.sample_rate.value_or(static_cast<double>(cycle) * p.plan.sample_rate.at(step, p.plan.steps));
  return p.sampler.draw(p.lots_drawn++, {.sample_rate = std::min(1.0, rate),
                                         .charged_rate = options.charged_rate,
                                         .queries = options.queries,
                                         .cycle = cycle,
                                         .turn = static_cast<std::uint64_t>(p.sums_released)});
}

ClippedSum PrivateSteps::clipped_sum(const Lot& lot) { return parts_->sum_of(lot, parts_->request()); }

ClippedSum PrivateSteps::importance_sum(const Lot& lot, double length) {
  Parts& p = *parts_;
  p.check_own(lot.draw());
  std::vector<std::uint64_t> words(p.rows.count);
  p.acceptance.fill(lot.number(), 0, words);
  const auto chance = [&](std::int64_t row) { return static_cast<double>(words[row]) * 0x1p-64; };
  ClipRequest request = p.request();
  request.importance = Importance{length, chance};
  return p.sum_of(lot, request);
}

ClippedSum PrivateSteps::norm_total(const Lot& lot, double noise_multiplier) {
  Parts& p = *parts_;
  p.take_sum(lot);
  return p.clipper.norm_total(lot.blocks(), lot.draw(), p.rows.gather, noise_multiplier);
}

ClippedSum PrivateSteps::loss_change(const Lot& lot, std::span<const float> before, double bound, double noise_multiplier) {
  Parts& p = *parts_;
  p.take_sum(lot);
  return p.clipper.loss_change(lot.blocks(), lot.draw(), p.rows.gather, before, expected_lot(), bound, noise_multiplier);
}

Release PrivateSteps::release(ClippedSum sum) {
  Parts& p = *parts_;
  const Draw draw = sum.draw();
  p.check_own(draw);
  check_privacy(sum.size() > 0 || !sum.scalars().empty(), "this sum was released or given away already");
  if (sum.size() == 0) {  // numbers by themselves
    GaussianMechanism numbers(sum.scalars().front().noise_multiplier);
    return numbers.release(std::move(sum), p.ledger->charge(numbers.event(draw.sample_rate, 0)), p.noise);
  }
  const std::int64_t queries = p.plan.method->sums_per_step;
  const bool paid = p.charge && !p.charge->used_up() && p.charged_ticket == draw.ticket;
  // Rows that are new begin a step: what an earlier one did not ask for is not asked any more.
  if (!paid) p.sums_released = (p.sums_released + queries - 1) / queries * queries;
  Mechanism& mechanism = *p.mechanisms[p.sums_released % queries];
  mechanism.begin_step(p.present_step(), p.unmoved());
  if (!paid) {
    p.charge.reset();
    p.charge.emplace(p.ledger->charge(mechanism.event(draw.sample_rate, p.plan.slack), draw.queries * mechanism.cycle()));
    p.charged_ticket = draw.ticket;
  }
  Release release = mechanism.release(std::move(sum), *p.charge, p.noise);  // recorded before it exists
  ++p.sums_released;
  if (release.has_scalar("count")) p.adaptive.adapt(release.scalar("count"), expected_lot());
  return release;
}

void PrivateSteps::update(const Release& release, double lr_factor) {
  Parts& p = *parts_;
  const UpdateOptions& options = p.plan.options.update;
  const double lr = learning_rate(*options.lr, options.lr_decay, p.released_step(), p.plan.steps);
  const double lot = p.plan.expected_lot().first();  // releases are in units of the first step's
  Gradient gradient{release.values(), lot, release.noise_variance()};
  if (p.filter) gradient = {p.filter->apply(release.values()), lot, std::nullopt};
  p.update->apply(p.parameters.values(), gradient, lr * lr_factor);
  if (!p.in_step) p.average.add(p.parameters.values());
}

double PrivateSteps::expected_lot() const { return parts_->plan.expected_lot_at(parts_->released_step()); }
std::span<const float> PrivateSteps::parameters() const { return parts_->parameters.values(); }
double PrivateSteps::clip_norm() const { return parts_->adaptive.clip_norm(); }

void PrivateSteps::set_parameters(std::span<const float> values) {
  const std::span<float> own = parts_->parameters.values();
  check_input(values.size() == own.size(), "{} parameters given: the model has {}", values.size(), own.size());
  std::ranges::copy(values, own.begin());
}

void PrivateSteps::move_to(std::span<const float> point) {
  Parts& p = *parts_;
  check_input(p.moved_from.empty(), "the parameters are moved already: come back first");
  const std::vector<float> from(parameters().begin(), parameters().end());
  set_parameters(point);
  p.moved_from = from;
}

void PrivateSteps::move_back() {
  Parts& p = *parts_;
  std::ranges::copy(p.moved_from, p.parameters.values().begin());
  p.moved_from.clear();
}

std::vector<float> PrivateSteps::average() const { return parts_->average.active() ? parts_->average.value() : std::vector<float>(); }

void PrivateSteps::set_gradients(const Release& release) {
  Parts& p = *parts_;
  if (!p.gradients.defined()) p.gradients = at::empty({p.parameters.size()}, at::kFloat);
  float* gradients = p.gradients.data_ptr<float>();
  const double scale = 1 / p.plan.expected_lot().first();
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
  if (const auto* memory = dynamic_cast<const FractionalMechanism*>(parts_->mechanisms.back().get())) {
    const Decomposition& parts = memory->insecure_decomposition();
    view.signal_norm = norm(parts.signal);
    view.memory_norm = norm(parts.memory);
    view.noise_memory_norm = norm(parts.noise_memory);
    view.noise_norm = norm(parts.noise);
  }
  return view;
}

}  // namespace fodp
