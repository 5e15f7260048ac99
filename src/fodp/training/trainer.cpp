#include "fodp/training/trainer.h"

#include <chrono>
#include <cmath>

#include <ATen/Context.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/training/evaluate.h"

namespace fodp {
namespace {

Model initial_model(const Plan& plan, const DataFormat& format) {
  const RunOptions& run = plan.options().run;
  if (run.init_seed) at::manual_seed(static_cast<std::uint64_t>(*run.init_seed));
  Model model = make_model(plan.options().model, {format.channels, format.height, format.width, format.classes});
  if (run.init) {
    std::vector<NamedTensor> to;
    for (const auto& item : model.module->named_parameters()) to.push_back({item.key(), item.value()});
    assign_parameters(load_state_dict(*run.init), to, *run.init);
  }
  return model;
}

// The rows that a model is tested on are of the kind that it is trained on, and as many as the plan says.
const Rows& checked_test(const Plan& plan, const Rows& train, const Rows& test) {
  const Target trained = train.target(), tested = test.target();
  check_input(trained.kind == tested.kind && trained.classes == tested.classes && trained.row == tested.row,
              "the test rows have other targets than the training rows");
  check_input(train.inputs() == test.inputs(), "the test rows have inputs of other shapes or types than the training rows");
  check_input(test.count() == plan.sizes().test, "the plan is for {} test examples, the data has {}", plan.sizes().test, test.count());
  return test;
}

}  // namespace

class Trainer::Loop {
 public:
  Loop(Plan plan, const Rows& train, const Rows& test, Model model)
      : test_(checked_test(plan, train, test)),
        model_(std::move(model)),
        objective_(objective_for(train.target())),
        steps_(
            *model_.module,
            [this](const Tensors& inputs, const at::Tensor& targets) { return objective_.row_losses(model_.forward(inputs), targets); },
            {train.count(), [&train](std::span<const std::int64_t> rows) { return train.gather(rows); }}, std::move(plan)),
        plan_(steps_.plan()),
        accountant_(make_accountant(plan_.options().privacy.accountant)) {}

  const Plan& plan() const { return plan_; }
  const Objective& objective() const { return objective_; }

  Result run(const Observers& observers) {
    start_ = std::chrono::steady_clock::now();
    Result result;
    bool go_on = true;
    while (go_on && step_ < plan_.steps()) {
      steps_.step();
      ++step_;
      if (step_ % plan_.eval_every() == 0 || step_ == plan_.steps()) evaluate_now(result, observers);
      if (observers.stepped) {
        const Evaluation* last = result.evaluations.empty() ? nullptr : &result.evaluations.back();
        go_on = observers.stepped({step_, plan_.steps(), seconds(), last ? last->test_metric : NAN, [this] { return steps_.epsilon(); }});
      }
    }
    if (result.evaluations.empty() || result.evaluations.back().step != step_) evaluate_now(result, observers);
    result.seconds = seconds();
    result.steps = step_;
    result.events = steps_.events();
    result.clip_norm = steps_.clip_norm();
    result.spent = accountant_->epsilon(result.events, plan_.options().privacy.delta);
    result.spent_ideal = accountant_->epsilon(ideal(result.events), plan_.options().privacy.delta);
    return result;
  }

  StateDict state() {
    return steps_.at_average([&] {
      StateDict dict;
      for (const auto& item : model_.module->named_parameters()) dict.push_back({item.key(), item.value().detach().clone()});
      for (const auto& item : model_.module->named_buffers()) dict.push_back({item.key(), item.value().detach().clone()});
      return dict;
    });
  }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  void evaluate_now(Result& result, const Observers& observers) {
    const TestResult test = steps_.at_average([&] { return evaluate(model_, test_, objective_); });
    Evaluation evaluation{.step = step_,
                          .epoch = static_cast<double>(step_) / static_cast<double>(plan_.steps_per_epoch()),
                          .epsilon = steps_.epsilon(),
                          .test_metric = test.metric,
                          .test_loss = test.loss,
                          .seconds = seconds()};
    if (plan_.options().insecure_diagnostics) evaluation.insecure = steps_.insecure_diagnostics();
    result.best_test_metric = result.evaluations.empty() ? test.metric : std::max(result.best_test_metric, test.metric);
    result.evaluations.push_back(evaluation);
    if (observers.evaluated) observers.evaluated(evaluation);
  }

  const Rows& test_;
  Model model_;
  const Objective& objective_;
  PrivateSteps steps_;
  const Plan& plan_;
  std::unique_ptr<Accountant> accountant_;
  std::int64_t step_ = 0;
  std::chrono::steady_clock::time_point start_;
};

Trainer::Trainer(Plan plan, const Dataset& data) {
  Model model = initial_model(plan, *data.format);
  loop_ = std::make_unique<Loop>(std::move(plan), data.train, data.test, std::move(model));
}

Trainer::Trainer(Plan plan, const Rows& train, const Rows& test, Model model)
    : loop_(std::make_unique<Loop>(std::move(plan), train, test, std::move(model))) {}

Trainer::~Trainer() = default;

const Plan& Trainer::plan() const { return loop_->plan(); }
const Objective& Trainer::objective() const { return loop_->objective(); }
Result Trainer::run(const Observers& observers) { return loop_->run(observers); }
StateDict Trainer::state() const { return loop_->state(); }

}  // namespace fodp
