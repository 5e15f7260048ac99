#include "fodp/training/trainer.h"

#include <chrono>
#include <cmath>

#include <ATen/Context.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/data/sampling.h"
#include "fodp/mechanism/fractional.h"
#include "fodp/training/evaluate.h"
#include "fodp/training/threads.h"

namespace fodp {
namespace {

RunKey run_key(const RunOptions& run) {
  return run.insecure_seed ? RunKey::from_insecure_seed(static_cast<std::uint64_t>(*run.insecure_seed)) : RunKey::from_system();
}

Model initial_model(const Plan& plan) {
  const RunOptions& run = plan.options.run;
  if (run.init_seed) at::manual_seed(static_cast<std::uint64_t>(*run.init_seed));
  Model model = make_model(plan.options.model, plan.input_shape());
  if (run.init) {
    std::vector<NamedTensor> to;
    for (const auto& item : model.module->named_parameters()) to.push_back({item.key(), item.value()});
    assign_parameters(load_state_dict(*run.init), to, *run.init);
  }
  return model;
}

double norm(const std::vector<double>& values) {
  double squared = 0;
  for (double value : values) squared += value * value;
  return std::sqrt(squared);
}

}  // namespace

class Trainer::Loop : public Step {
 public:
  Loop(const Plan& plan, const Dataset& data)
      : plan_(plan),
        data_(data),
        key_(run_key(plan.options.run)),
        noise_(key_, Purpose::noise),
        sampler_(data.train.size(), plan.sample_rate, plan.block_rows(), RandomStream(key_, Purpose::sampling)),
        model_(initial_model(plan)),
        parameters_(*model_.module),
        clipper_(
            *model_.module, parameters_,
            [this](const at::Tensor& inputs, const at::Tensor& targets) { return row_cross_entropy(model_.forward(inputs), targets); },
            plan.options.clip, kMostBlockRows),
        accountant_(make_accountant(plan.options.privacy.accountant)),
        ledger_(plan.budget ? std::make_unique<Ledger>(*plan.budget, *accountant_) : std::make_unique<Ledger>()),
        method_(plan.method->make()),
        mechanism_(method_->make_mechanism(plan.method_context())),
        update_(method_->make_update()) {
    check_input(data.train.size() == plan.train_examples, "the plan is for {} training examples, the data has {}", plan.train_examples,
                data.train.size());
    check_privacy(clipper_.slack() <= plan.slack, "the plan's slack {} is below the run's {}", plan.slack, clipper_.slack());
    ledger_->plan(plan.events);
    if (plan.options.run.insecure_diagnostics)
      if (auto* memory = dynamic_cast<FractionalMechanism*>(mechanism_.get())) memory->keep_insecure_decomposition();
  }

  Lot sample() override { return sampler_.draw(lots_drawn_++); }

  ClippedSum clipped_sum(Lot lot) override {
    const Gather gather = [this](std::span<const std::int64_t> rows) { return Batch{data_.train.inputs(rows), data_.train.targets(rows)}; };
    insecure_clip_ = {};
    return clipper_.clipped_sum(lot.blocks, lot.sample_rate, gather, diagnostics() ? &insecure_clip_ : nullptr);
  }

  Release release(ClippedSum sum) override {
    Charge charge = ledger_->charge(mechanism_->event(sum));  // recorded before the release exists
    return mechanism_->release(std::move(sum), std::move(charge), noise_);
  }

  void update(const Release& release) override {
    const UpdateOptions& options = plan_.options.update;
    update_->apply(parameters_.values(), release, plan_.expected_lot, learning_rate(*options.lr, options.lr_decay, step_, plan_.steps));
  }

  Result run(const Observers& observers) {
    start_ = std::chrono::steady_clock::now();
    Result result;
    bool go_on = true;
    while (go_on && step_ < plan_.steps) {
      method_->step(*this);
      ++step_;
      if (step_ % plan_.eval_every == 0 || step_ == plan_.steps) evaluate_now(result, observers);
      if (observers.stepped) {
        const Evaluation* last = result.evaluations.empty() ? nullptr : &result.evaluations.back();
        go_on = observers.stepped({step_, plan_.steps, seconds(), last ? last->test_accuracy : NAN, [this] { return epsilon_now(); }});
      }
    }
    if (result.evaluations.empty() || result.evaluations.back().step != step_) evaluate_now(result, observers);
    result.seconds = seconds();
    result.steps = step_;
    result.events = ledger_->events();
    result.spent = accountant_->epsilon(result.events, plan_.options.privacy.delta);
    result.spent_ideal = accountant_->epsilon(ideal(result.events), plan_.options.privacy.delta);
    return result;
  }

  StateDict state() const {
    StateDict dict;
    for (const auto& item : model_.module->named_parameters()) dict.push_back({item.key(), item.value().detach().clone()});
    return dict;
  }

 private:
  bool diagnostics() const { return plan_.options.run.insecure_diagnostics; }
  double epsilon_now() const { return accountant_->epsilon(ledger_->events(), plan_.options.privacy.delta).epsilon; }
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  void evaluate_now(Result& result, const Observers& observers) {
    const TestResult test = evaluate(model_, data_.test);
    Evaluation evaluation{.step = step_,
                          .epoch = static_cast<double>(step_) / static_cast<double>(plan_.steps_per_epoch),
                          .epsilon = epsilon_now(),
                          .test_accuracy = test.accuracy,
                          .test_loss = test.loss,
                          .seconds = seconds()};
    if (diagnostics()) evaluation.insecure = insecure_view();
    result.best_test_accuracy = std::max(result.best_test_accuracy, test.accuracy);
    result.evaluations.push_back(evaluation);
    if (observers.evaluated) observers.evaluated(evaluation);
  }

  InsecureDiagnostics insecure_view() const {
    const double rows = static_cast<double>(std::max<std::int64_t>(1, insecure_clip_.rows));
    InsecureDiagnostics view{.train_loss = insecure_clip_.loss_sum / rows,
                             .clip_fraction = static_cast<double>(insecure_clip_.clipped) / rows,
                             .mean_norm = insecure_clip_.norm_sum / rows,
                             .largest_norm = insecure_clip_.largest_norm};
    if (const auto* memory = dynamic_cast<const FractionalMechanism*>(mechanism_.get())) {
      const Decomposition& parts = memory->insecure_decomposition();
      view.signal_norm = norm(parts.signal);
      view.memory_norm = norm(parts.memory);
      view.noise_memory_norm = norm(parts.noise_memory);
      view.noise_norm = norm(parts.noise);
    }
    return view;
  }

  Plan plan_;
  const Dataset& data_;
  RunKey key_;
  RandomStream noise_;
  PoissonSampler sampler_;
  Model model_;
  FlatParameters parameters_;
  Clipper clipper_;
  std::unique_ptr<Accountant> accountant_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Method> method_;
  std::unique_ptr<Mechanism> mechanism_;
  std::unique_ptr<Update> update_;
  std::int64_t step_ = 0;
  std::uint64_t lots_drawn_ = 0;
  ClipDiagnostics insecure_clip_;
  std::chrono::steady_clock::time_point start_;
};

Trainer::Trainer(const Plan& plan, const Dataset& data) {
  use_threads(*plan.options.speed.threads);
  loop_ = std::make_unique<Loop>(plan, data);
}

Trainer::~Trainer() = default;

Result Trainer::run(const Observers& observers) { return loop_->run(observers); }
StateDict Trainer::state() const { return loop_->state(); }

}  // namespace fodp
