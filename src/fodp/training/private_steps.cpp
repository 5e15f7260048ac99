#include "fodp/training/private_steps.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/base/phases.h"
#include "fodp/data/sampling.h"
#include "fodp/gradients/mixing.h"
#include "fodp/gradients/row_by_row.h"
#include "fodp/gradients/row_format.h"
#include "fodp/gradients/tape.h"
#include "fodp/gradients/user_code.h"
#include "fodp/mechanism/gaussian.h"
#include "fodp/noise/lattice.h"
#include "fodp/training/private_run.h"
#include "fodp/training/statement.h"
#include "fodp/training/threads.h"

namespace fodp {
namespace {

constexpr std::int64_t kRowsTried = 16;

RunKey run_key(const PrivateOptions& options) {
  return options.insecure_seed ? RunKey::from_insecure_seed(static_cast<std::uint64_t>(*options.insecure_seed)) : RunKey::from_system();
}

// The first row that can be fetched, which tells the shape of all rows. A row that throws is passed over, since it may be the only one; if
// many do, the function that fetches rows is wrong.
Batch first_row(const TrainingRows& rows) {
  const Gather gather = silent_gather(rows.gather);
  std::int64_t row = 0;
  for (; row + 1 < std::min(rows.count, kRowsTried); ++row) {
    const auto fetched = of_training_rows("fetching a training row", gather, {&row, 1}, [](const Batch& batch) { return batch; });
    if (fetched.result) return *fetched.result;
  }
  return in_user_code_on_training_rows("fetching a training row", Batch{}, [&] { return gather(std::vector<std::int64_t>{row}); });
}

DataFacts facts_of(const TrainingRows& rows) {
  check_input(rows.count >= 1, "training data: no rows");
  const Tensors inputs = first_row(rows).inputs;
  check_input(inputs.size() >= 1, "the function that fetches rows gives no inputs");
  const at::Tensor& first = inputs[0];
  return {.sizes = {rows.count, 0}, .row_shape = first.dim() > 0 ? first.sizes().slice(1).vec() : std::vector<std::int64_t>()};
}

}  // namespace

PrivateSteps::Run::Run(torch::nn::Module& model, RowLosses losses, TrainingRows training_rows, Plan made)
    : plan(std::move(made)),
      parts(plan.parts_),
      rows(std::move(training_rows)),
      key(run_key(plan.options())),
      noise(key, Purpose::noise),
      acceptance(key, Purpose::acceptance),
      choice(key, Purpose::choice),
      sampler(rows.count, plan.block_rows(), RandomStream(key, Purpose::sampling)),
      parameters(model),
      clipper(model, parameters, std::move(losses), *parts.clipping, plan.options().clip.grouping(), kMostBlockRows),
      accountant(make_accountant(plan.options().privacy.accountant)),
      ledger(plan.budget() ? std::make_unique<Ledger>(*plan.budget(), *accountant) : std::make_unique<Ledger>()),
      parallel(by_threads()) {
  check_input(rows.count == plan.train_examples(), "the plan is for {} training examples, the data has {}", plan.train_examples(),
              rows.count);
  check_input(parameters.size() == plan.parameters(), "the plan is for {} trainable parameters, the model has {}", plan.parameters(),
              parameters.size());
  check_privacy(clipper.slack() <= plan.slack(), "the plan's slack {} is below the run's {}", plan.slack(), clipper.slack());
  check_fetching(model);
  ledger->spent_before(plan.earlier().events);
  ledger->plan(plan.own_events());
  if (plan.options().insecure_diagnostics)
    for (const auto& mechanism : parts.mechanisms) mechanism->keep_insecure_parts();
}

// From here on every batch that is fetched has the format of the first row.
void PrivateSteps::Run::check_fetching(const torch::nn::Module& model) {
  rows.gather = silent_gather(std::move(rows.gather));
  const Batch first = first_row(rows);
  format.emplace(first);
  check_input(!rows.sample || format->fits(*rows.sample), "the sample rows have other shapes or types than the training rows");
  rows.gather = checked_gather(std::move(rows.gather), *format);
  check_rows_are_fetched_alone(rows.gather, rows.count, rows.random_rows);
  if (rows.random_rows)
    warnings.push_back(
        "rows were not checked: they are changed at random when they are fetched (random_rows), which is private only if "
        "the change of a row depends on no other row");
  if (rows.random_rows && plan.cycle() > 1)
    warnings.push_back(
        "rows take part by their numbers in turn, since they are changed at random: neighbouring data sets differ in what one number "
        "stands for, and a row that is taken out must leave its number empty");
  check_rows_do_not_mix(clipper, model, first, rows.sample);
  if (plan.cycle() == 1 || rows.random_rows) return;
  rows_at_start = hash_of_some_rows(rows.gather, rows.count);
  groups = std::make_shared<std::vector<std::uint16_t>>(
      groups_by_contents(rows.gather, rows.count, plan.cycle(), /*alike_is_equal=*/!rows.gather_drawn));
}

// How the rows of a lot are fetched: what is drawn for them is drawn by the lot's number and theirs.
Gather PrivateSteps::Run::gather_in(const Lot& lot) const {
  if (!rows.gather_drawn) return rows.gather;
  auto words = std::make_shared<std::vector<std::uint64_t>>(static_cast<std::size_t>(rows.count));
  choice.fill(lot.number(), 0, *words);
  const RowWords word = [words](std::int64_t row) { return (*words)[static_cast<std::size_t>(row)]; };
  return checked_gather(silent_gather([this, word](std::span<const std::int64_t> which) { return rows.gather_drawn(which, word); }),
                        *format);
}

// A refusal tells that the program is wrong, and of the rows only that they changed.
void PrivateSteps::Run::check_rows_stay() const {
  check_privacy(
      !rows_at_start || hash_of_some_rows(rows.gather, rows.count) == *rows_at_start,
      "the function that fetches rows gives other values for the same row numbers than when the run began: with correlated noise a "
      "record takes part by its number, at most once in {} steps, so that each number must stay the same record; do not shuffle, "
      "refill or change rows during a run; if each row is changed at random when it is fetched, as for augmentation, declare it "
      "with TrainingRows::random_rows",
      plan.cycle());
}

void PrivateSteps::Run::state(StateVisitor& visit) {
  std::uint64_t of_plan = plan.fingerprint();
  visit("plan", of_plan);
  check_input(of_plan == plan.fingerprint(), "this state is of a run with another plan: other options, rows, schema or costs");
  visit("name.high", name.high);
  visit("name.low", name.low);
  visit("parameters", parameters.values());
  visit.part("method", *parts.method);
  visit.part("clipping", *parts.clipping);
  for (std::size_t i = 0; i < parts.mechanisms.size(); ++i) visit.part("mechanism" + std::to_string(i), *parts.mechanisms[i]);
  if (parts.filter) visit.part("filter", *parts.filter);
  visit.part("update", *parts.update);
  if (parts.average) visit.part("average", *parts.average);
  visit.part("ledger", *ledger);
  visit("sums_released", sums_released);
  visit("lots_drawn", lots_drawn);
  visit("charged_ticket", charged_ticket);
  ledger->charge_state(visit, charge);
}

PrivateSteps::PrivateSteps(torch::nn::Module& model, RowLosses losses, TrainingRows rows, const PrivateOptions& options)
    : PrivateSteps(model, std::move(losses), rows, make_plan(TrainOptions{options, {}, {}, {}}, facts_of(rows), model)) {}

PrivateSteps::PrivateSteps(torch::nn::Module& model, RowLosses losses, TrainingRows rows, Plan plan) {
  check_input(plan.parts_.method != nullptr, "this plan was moved from, or given to a run already: a plan is for one run");
  check_model(model);
  use_threads(*plan.options().speed.threads);
  run_ = std::make_unique<Run>(model, std::move(losses), std::move(rows), std::move(plan));
}

PrivateSteps::~PrivateSteps() {
  if (run_) run_->close_ledger();
}

PrivateSteps::InUse::InUse(const PrivateSteps& steps) : run_(*steps.run_) {
  const std::thread::id here = std::this_thread::get_id();
  std::thread::id nobody;
  check_privacy(run_.user.load() == here || run_.user.compare_exchange_strong(nobody, here),
                "another thread is inside a call of this PrivateSteps: it is used by one thread at a time, or its charges, lots and noise "
                "could be mixed up; call it from one thread, or make each call wait for the one before");
  ++run_.calls;
}

PrivateSteps::InUse::~InUse() {
  if (--run_.calls == 0) run_.user.store({});
}

bool PrivateSteps::done() const {
  const InUse in_use(*this);
  return run_->sums_released >= run_->plan.steps() * run_->queries();
}

void PrivateSteps::step() {
  const InUse in_use(*this);
  struct InStep {
    explicit InStep(bool& flag) : in_step(flag) { in_step = true; }
    ~InStep() { in_step = false; }
    bool& in_step;
  };
  {
    const InStep in_step(run_->in_step);
    run_->parts.method->step(*this);
  }
  run_->end_of_step();
}

Lot PrivateSteps::sample(const LotOptions& options) {
  const InUse in_use(*this);
  const InPhase in_phase(Phase::sample);
  Run& r = *run_;
  r.check_ledger_is_kept();
  const std::int64_t step = r.present_step(), cycle = r.plan.cycle();
  if (r.sums_released % cycle == 0) r.check_rows_stay();
  const double rate = options.sample_rate.value_or(static_cast<double>(cycle) * r.plan.sample_rate().at(step, r.plan.steps()));
  return r.sampler.draw(r.lots_drawn++, {.sample_rate = std::min(1.0, rate),
                                         .charged_rate = options.charged_rate,
                                         .queries = options.queries,
                                         .cycle = cycle,
                                         .turn = static_cast<std::uint64_t>(r.sums_released),
                                         .groups = r.groups ? std::span(*r.groups) : std::span<const std::uint16_t>()});
}

std::shared_ptr<const std::vector<std::uint16_t>> PrivateSteps::cycle_groups() const { return run_->groups; }

ClippedSum PrivateSteps::clipped_sum(const Lot& lot) { return clipped_sum(lot, run_->parts.clipping->query()); }

ClippedSum PrivateSteps::clipped_sum(const Lot& lot, const Query& query) {
  const InUse in_use(*this);
  Run& r = *run_;
  r.check_own(lot.draw());
  std::vector<std::uint64_t> words(query.draws_coins() ? r.rows.count : 0);
  r.acceptance.fill(lot.number(), 0, words);
  lot.take_sum();
  const auto coin = [&](std::int64_t row) { return static_cast<double>(words[row]) * 0x1p-64; };
  const bool insecure = r.plan.options().insecure_diagnostics && query.depth() == Query::Depth::gradients;
  return r.clipper.clipped_sum({lot.blocks_, lot.draw(), r.gather_in(lot), coin}, query, insecure ? &r.insecure_clip : nullptr);
}

Release PrivateSteps::release(ClippedSum sum) {
  const InUse in_use(*this);
  Run& r = *run_;
  r.check_ledger_is_kept();
  const Draw draw = sum.draw();
  r.check_own(draw);
  check_privacy(sum.size() > 0 || !sum.scalars().empty(),
                "this sum is empty: it was released or given away already, or its query asked for nothing");
  if (sum.size() == 0) {  // numbers by themselves
    GaussianMechanism numbers(sum.scalars().front().noise_multiplier);
    return numbers.release(std::move(sum), r.ledger->charge(numbers.event(draw.sample_rate(), 0)), r.noise);
  }
  const bool paid = r.charge && !r.charge->used_up() && r.charged_ticket == draw.ticket();
  // Rows that are new begin a step: what an earlier one did not ask for is not asked any more.
  if (!paid) r.sums_released = (r.sums_released + r.queries() - 1) / r.queries() * r.queries();
  Mechanism& mechanism = *r.parts.mechanisms[r.sums_released % r.queries()];
  mechanism.begin_step(r.present_step(), r.unmoved());
  if (!paid) {
    r.charge.reset();
    r.charge.emplace(r.ledger->charge(mechanism.event(draw.sample_rate(), r.plan.slack()), draw.queries() * mechanism.cycle()));
    r.charged_ticket = draw.ticket();
  }
  Release release = mechanism.release(std::move(sum), *r.charge, r.noise, r.parallel);  // recorded before it exists
  ++r.sums_released;
  r.parts.clipping->released(release, expected_lot());
  return release;
}

std::vector<double> PrivateSteps::release_test_sums(std::span<const double> sums, std::span<const double> bounds) {
  const InUse in_use(*this);
  Run& r = *run_;
  r.check_ledger_is_kept();
  check_input(!sums.empty() && sums.size() == bounds.size(), "{} sums of test rows with {} bounds", sums.size(), bounds.size());
  const double noise = r.plan.tests().noise;
  check_privacy(noise > 0, "the plan of this run has no release of test rows");
  ClippedRows rows;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    rows.scalars.push_back({std::to_string(i), bounds[i], noise * std::sqrt(static_cast<double>(sums.size()))});
    rows.scalar_lattice.push_back(std::llround(sums[i] / scalar_grid(bounds[i])));
  }
  GaussianMechanism numbers(noise);
  Charge charge = r.ledger->charge(r.plan.tests().event());
  const Release release = numbers.release(ClippedSum::vouching_that_rows_are_clipped(std::move(rows)), charge, r.noise);
  std::vector<double> released;
  for (std::size_t i = 0; i < sums.size(); ++i) released.push_back(release.scalar(std::to_string(i)));
  return released;
}

void PrivateSteps::update(const Release& release, double lr_factor) {
  const InUse in_use(*this);
  const InPhase in_phase(Phase::update);
  Run& r = *run_;
  const UpdateOptions& options = r.plan.options().update;
  const double lr = learning_rate(*options.lr, options.lr_decay, r.released_step(), r.plan.steps());
  const double lot = r.plan.context().expected_lot();  // releases are in units of the first step's
  Gradient gradient{release.values(), lot, release.noise_variance()};
  if (r.parts.filter) gradient = {r.parts.filter->apply(release.values()), lot, std::nullopt};
  r.parts.update->apply(r.parameters.values(), gradient, lr * lr_factor);
  if (!r.in_step) r.end_of_step();
}

double PrivateSteps::expected_lot() const { return run_->plan.expected_lot_at(run_->released_step()); }
std::span<const float> PrivateSteps::parameters() const { return run_->parameters.values(); }
double PrivateSteps::clip_norm() const { return run_->parts.clipping->clip_norm(); }

void PrivateSteps::set_parameters(std::span<const float> values) {
  const InUse in_use(*this);
  const std::span<float> own = run_->parameters.values();
  check_input(values.size() == own.size(), "{} parameters given: the model has {}", values.size(), own.size());
  std::ranges::copy(values, own.begin());
}

void PrivateSteps::move_to(std::span<const float> point) {
  const InUse in_use(*this);
  Run& r = *run_;
  check_input(r.moved_from.empty(), "the parameters are moved already: come back first");
  const std::vector<float> from(parameters().begin(), parameters().end());
  set_parameters(point);
  r.moved_from = from;
  r.moving.emplace(*this);
}

void PrivateSteps::move_back() {
  Run& r = *run_;
  std::ranges::copy(r.moved_from, r.parameters.values().begin());
  r.moved_from.clear();
  r.moving.reset();
}

std::vector<float> PrivateSteps::average() const {
  const auto& average = run_->parts.average;
  return average && average->started() ? average->value() : std::vector<float>();
}

void PrivateSteps::set_gradients(const Release& release) {
  const InUse in_use(*this);
  Run& r = *run_;
  if (!r.gradients.defined()) r.gradients = at::empty({r.parameters.size()}, at::kFloat);
  float* gradients = r.gradients.data_ptr<float>();
  const double scale = 1 / r.plan.context().expected_lot();
  for (std::size_t k = 0; k < release.values().size(); ++k) gradients[k] = static_cast<float>(release.values()[k] * scale);
  for (at::Tensor parameter : r.parameters.tensors()) parameter.mutable_grad() = r.parameters.place_of(parameter, r.gradients);
}

const Plan& PrivateSteps::plan() const { return run_->plan; }
std::string PrivateSteps::name() const { return run_->name.text(); }

const Events& PrivateSteps::events() const {
  const InUse in_use(*this);
  return run_->ledger->events();
}

Guarantee PrivateSteps::guarantee() const {
  const InUse in_use(*this);
  return fodp::guarantee(plan(), *run_->ledger, *run_->accountant);
}

double PrivateSteps::epsilon() const { return guarantee().spent.epsilon; }
double PrivateSteps::epsilon_if_stop_was_fixed() const { return guarantee().epsilon_if_stop_was_fixed; }
const std::vector<std::string>& PrivateSteps::run_warnings() const { return run_->warnings; }

void PrivateSteps::keep_noised_sums() {
  for (const auto& mechanism : run_->parts.mechanisms) mechanism->keep_noised_sums();
}

std::string PrivateSteps::statement() const {
  StatementFacts facts = facts_of(plan(), guarantee());
  facts.warnings = run_warnings();
  return privacy_statement(plan(), facts);
}

PrivateSteps::InsecureDiagnostics PrivateSteps::insecure_diagnostics() const {
  const ClipDiagnostics& clip = run_->insecure_clip;
  const double rows = static_cast<double>(std::max<std::int64_t>(1, clip.rows));
  return {.train_loss = clip.loss_sum / rows,
          .clip_fraction = static_cast<double>(clip.clipped) / rows,
          .mean_norm = clip.norm_sum / rows,
          .largest_norm = clip.largest_norm,
          .parts = run_->parts.mechanisms.back()->insecure_parts()};
}

}  // namespace fodp
