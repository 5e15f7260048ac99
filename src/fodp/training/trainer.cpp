#include "fodp/training/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/index_select.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/training/evaluate.h"
#include "fodp/training/model_file.h"

namespace fodp {
namespace {

// The rows that a model is tested on are of the kind that it is trained on, and as many as the plan says.
const Rows* checked_test(const Plan& plan, const Rows& train, const Rows* test) {
  const std::int64_t count = test ? test->count() : 0;
  check_input(count == plan.sizes().test, "the plan is for {} test examples, the data has {}", plan.sizes().test, count);
  if (!test) return test;
  const Target trained = train.target(), tested = test->target();
  const bool one_row =
      !train.draws() || train.inputs() == test->inputs();  // units may come with several rows each, and are tested with one
  check_input(trained.kind == tested.kind && trained.classes == tested.classes && (!one_row || trained.row == tested.row),
              "the test rows have other targets than the training rows");
  check_input(!one_row || train.inputs() == test->inputs(), "the test rows have inputs of other shapes or types than the training rows");
  return test;
}

// As a tensor, of weights that fit the rows.
at::Tensor class_weights_for(const Plan& plan, const Target& target) {
  const ClassWeights& weights = plan.options().run.class_weights;
  check_class_weights(weights, target, {});
  return weights.tensor();
}

}  // namespace

TrainingRows training_rows(const Rows& train) {
  TrainingRows rows{train.count(), [&train](std::span<const std::int64_t> which) { return train.gather(which); }};
  if (train.draws())
    rows.gather_drawn = [&train](std::span<const std::int64_t> which, const RowWords& words) { return train.gather_drawn(which, words); };
  return rows;
}

at::Tensor unit_losses(const Objective& objective, const at::Tensor& outputs, const at::Tensor& targets, const at::Tensor& class_weights) {
  const auto weighted = [&](const at::Tensor& given, const at::Tensor& wanted) {
    const at::Tensor losses = objective.row_losses(given, wanted);
    return class_weights.defined() ? losses * class_weights.index_select(0, wanted) : losses;
  };
  if (targets.dim() < 2) return weighted(outputs, targets);
  const std::int64_t units = targets.size(0), rows = targets.size(1);
  return weighted(outputs.reshape({units * rows, -1}), targets.reshape({units * rows})).reshape({units, rows}).mean(1);
}

Model initial_model(const TrainOptions& options, const DataDescription& about) {
  if (options.run.init_seed) at::manual_seed(static_cast<std::uint64_t>(*options.run.init_seed));
  Model model = make_model(options.model, shape_for_model(about));
  if (options.run.init) load_parameters(*options.run.init, *model.module);
  return model;
}

class Trainer::Loop {
 public:
  Loop(Plan plan, const Rows& train, const Rows* test, Model model, double target_scale = 1)
      : test_(checked_test(plan, train, test)),
        model_(std::move(model)),
        objective_(objective_for(train.target())),
        class_weights_(class_weights_for(plan, train.target())),
        steps_(
            *model_.module,
            [this](const Tensors& inputs, const at::Tensor& targets) {
              return unit_losses(objective_, model_.forward(inputs), targets, class_weights_);
            },
            training_rows(train), std::move(plan)),
        plan_(steps_.plan()),
        target_scale_(target_scale) {}

  const Plan& plan() const { return plan_; }
  const Objective& objective() const { return objective_; }

  std::int64_t steps_taken() const { return step_; }
  std::int64_t charges_lost() const { return steps_.charges_lost(); }

  void keep(const RunFiles& files) {
    files_ = files;
    if (!std::filesystem::exists(files.checkpoint)) return steps_.keep_ledger(files.ledger, files.data_fingerprint);
    const State own = steps_.load(files.checkpoint, files.ledger, files.data_fingerprint);
    StateVisitor visit = StateVisitor::loading(own, false);
    state(visit);
  }

  Result run(const Observers& observers) {
    start_ = saved_ = Clock::now();
    bool go_on = true, budget_spent = false;
    while (go_on && step_ < plan_.steps()) {
      if (!take_step()) {
        budget_spent = true;
        break;
      }
      if (step_ % plan_.eval_every() == 0 || step_ == plan_.steps()) evaluate_now(observers);
      if (observers.stepped) {
        const double metric = evaluations_.empty() ? NAN : evaluations_.back().test_metric;
        go_on = observers.stepped({step_, plan_.steps(), seconds(), metric, [this] { return steps_.epsilon_if_stop_was_fixed(); }});
      }
      if (checkpoint_is_due()) save();
    }
    // A run that is interrupted may go on: it keeps its look at private test rows for its end.
    if (evaluations_.empty() || evaluations_.back().step != step_) evaluate_now(observers, /*may_spend=*/go_on);
    save();
    Result result;
    result.evaluations = evaluations_;
    result.best_test_metric = NAN;
    for (const Evaluation& one : evaluations_) result.best_test_metric = std::fmax(result.best_test_metric, one.test_metric);
    result.seconds = seconds();
    result.steps = step_;
    result.budget_spent = budget_spent;
    result.clip_norm = steps_.clip_norm();
    static_cast<Guarantee&>(result) = steps_.guarantee();
    result.run = steps_.name();
    return result;
  }

  StateDict parameters() {
    return steps_.at_average([&] {
      StateDict dict;
      for (const auto& item : model_.module->named_parameters()) dict.push_back({item.key(), item.value().detach().clone()});
      for (const auto& item : model_.module->named_buffers()) dict.push_back({item.key(), item.value().detach().clone()});
      return dict;
    });
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }
  double seconds() const { return seconds_before_ + seconds_since(start_); }

  // False if the budget does not allow another step.
  bool take_step() {
    try {
      steps_.step();
    } catch (const BudgetError&) {
      return false;
    }
    ++step_;
    return true;
  }

  // About once a minute, and so seldom that it takes no more than a hundredth of the time.
  bool checkpoint_is_due() const {
    if (!files_) return false;
    if (files_->every) return step_ % *files_->every == 0;
    return seconds_since(saved_) > std::max(60.0, 100 * seconds_to_save_);
  }

  void save() {
    if (!files_) return;
    const Clock::time_point begin = Clock::now();
    State own;
    StateVisitor visit = StateVisitor::saving(own, false);
    state(visit);
    steps_.save(files_->checkpoint, own);
    saved_ = Clock::now();
    seconds_to_save_ = std::chrono::duration<double>(saved_ - begin).count();
  }

  // What this loop adds to the state of its steps.
  void state(StateVisitor& visit) {
    const auto kept = [&](double time) { return plan_.is_private() ? std::round(time) : time; };  // exact times would tell lot sizes
    double spent = kept(seconds());
    std::vector<std::vector<double>> rows;
    for (const Evaluation& one : evaluations_)
      rows.push_back(
          {static_cast<double>(one.step), one.epoch, one.epsilon, one.test_metric, one.test_loss, kept(one.seconds), one.test_error});
    visit("step", step_);
    visit("seconds", spent);
    visit("evaluations", rows);
    if (!visit.loads()) return;
    seconds_before_ = spent;
    evaluations_.clear();
    for (const std::vector<double>& row : rows) {
      check_input(row.size() == 7, "checkpoint: an evaluation has {} numbers: must be 7", row.size());
      evaluations_.push_back({static_cast<std::int64_t>(row[0]), row[1], row[2], row[3], row[4], row[5], row[6], {}});
    }
  }

  TestResult tested(bool may_spend) {
    constexpr TestResult nothing{NAN, NAN, NAN};
    if (!test_) return nothing;
    if (!plan_.tests_are_private()) return evaluate(model_, *test_, objective_);
    if (!may_spend) return nothing;
    std::vector<double> sums;
    try {
      sums = steps_.release_test_sums(bounded_sums(model_, *test_, objective_), objective_.part_bounds);
    } catch (const BudgetError&) {  // what was trained is not lost for that
      return nothing;
    }
    const double count = static_cast<double>(test_->count());
    const double least = objective_.error ? -INFINITY : 0;  // noise does not make a share of the rows negative, or more than all
    return {std::clamp(objective_.value(sums, count), least, 1.0), NAN, objective_.error ? objective_.error(sums, count) : NAN};
  }

  void evaluate_now(const Observers& observers, bool may_spend = true) {
    const TestResult test = steps_.at_average([&] { return tested(may_spend); });
    Evaluation evaluation{.step = step_,
                          .epoch = static_cast<double>(step_) / static_cast<double>(plan_.steps_per_epoch()),
                          .epsilon = steps_.epsilon_if_stop_was_fixed(),
                          .test_metric = test.metric,
                          .test_loss = test.loss,
                          .seconds = seconds(),
                          .test_error = test.error * target_scale_};
    if (plan_.options().insecure_diagnostics) evaluation.insecure = steps_.insecure_diagnostics();
    evaluations_.push_back(evaluation);
    if (observers.evaluated) observers.evaluated(evaluation);
  }

  const Rows* test_;
  Model model_;
  const Objective& objective_;
  at::Tensor class_weights_;  // undefined if every class counts the same
  PrivateSteps steps_;
  const Plan& plan_;
  double target_scale_;
  std::int64_t step_ = 0;
  std::vector<Evaluation> evaluations_;
  std::optional<RunFiles> files_;
  Clock::time_point start_ = Clock::now(), saved_;
  double seconds_before_ = 0;   // of the processes that this run goes on from
  double seconds_to_save_ = 0;  // the last time
};

Trainer::Trainer(Plan plan, const RunData& data) {
  Model model = initial_model(plan.options(), data.about);
  loop_ = std::make_unique<Loop>(std::move(plan), *data.train, data.test.get(), std::move(model), data.about.target_scale);
}

Trainer::Trainer(Plan plan, const Dataset& data) {
  Model model = initial_model(plan.options(), describe_named(*data.format));
  loop_ = std::make_unique<Loop>(std::move(plan), data.train, &data.test, std::move(model));
}

Trainer::Trainer(Plan plan, const Rows& train, const Rows& test, Model model)
    : loop_(std::make_unique<Loop>(std::move(plan), train, &test, std::move(model))) {}

Trainer::~Trainer() = default;

const Plan& Trainer::plan() const { return loop_->plan(); }
const Objective& Trainer::objective() const { return loop_->objective(); }
Result Trainer::run(const Observers& observers) { return loop_->run(observers); }
StateDict Trainer::state() const { return loop_->parameters(); }
void Trainer::keep(const RunFiles& files) { loop_->keep(files); }
std::int64_t Trainer::steps_taken() const { return loop_->steps_taken(); }
std::int64_t Trainer::charges_lost() const { return loop_->charges_lost(); }

}  // namespace fodp
