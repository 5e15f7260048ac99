#include "fodp/audit/watched_run.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/index_select.h>
#include <torch/nn/module.h>

#include "fodp/base/check.h"
#include "fodp/mechanism/gaussian.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

constexpr double kLarge = 1e4;  // times the values of a record that is made to be hard to bound

// Opens a sum by releasing it without noise, charged as such.
class Opener : public GaussianMechanism {
 public:
  explicit Opener(std::int64_t cycle) : GaussianMechanism(0.0), cycle_(cycle) { keep_noised_sums(); }
  std::int64_t cycle() const override { return cycle_; }

 private:
  std::int64_t cycle_;
};

ClippedRows opened(ClippedSum sum) {
  ClippedRows rows{.lattice = {},
                   .groups = sum.groups(),
                   .scalars = sum.scalars(),
                   .scalar_lattice = {},
                   .draw = sum.draw(),
                   .grid = sum.grid(),
                   .slack = sum.slack()};
  Opener opener(sum.draw().cycle());
  Ledger ledger;
  const RunKey key = RunKey::from_system();
  const RandomStream no_noise(key, Purpose::noise);
  Charge charge = ledger.charge(opener.event(sum));
  const Release release = opener.release(std::move(sum), charge, no_noise);
  for (const double value : release.noised_sum()) rows.lattice.push_back(std::llround(value / rows.grid));
  for (const BoundedScalar& scalar : rows.scalars)
    rows.scalar_lattice.push_back(std::llround(release.scalar(scalar.name) / scalar_grid(scalar.sensitivity)));
  return rows;
}

double sensitivity(const ClippedRows& rows) {
  double squared = 0;
  for (const ClipGroup& group : rows.groups) squared += group.clip_norm * group.clip_norm;
  return std::sqrt(squared);
}

TrainingRows watched(const AuditSubject& subject, WatchedRows& rows) {
  TrainingRows out = subject.rows;
  out.gather = subject.fault ? subject.fault->drawn(rows.gather()) : rows.gather();
  out.gather_drawn = rows.gather_drawn();
  return out;
}

PrivateOptions changed(const AuditSubject& subject, PrivateOptions options) {
  if (subject.fault) subject.fault->begin_run(), subject.fault->change(options);
  return options;
}

}  // namespace

Gather WatchedRows::gather() {
  return [self = shared_from_this()](std::span<const std::int64_t> rows) { return self->fetch(rows, self->gather_); };
}

DrawnGather WatchedRows::gather_drawn() {
  if (!drawn_) return {};
  return [self = shared_from_this()](std::span<const std::int64_t> rows, const RowWords& words) {
    return self->fetch(rows, [&](std::span<const std::int64_t> which) { return self->drawn_(which, words); });
  };
}

void WatchedRows::begin_lot() {
  const std::lock_guard lock(mutex_);
  in_lot_ = true;
  fetched_.clear();
}

void WatchedRows::end_lot() {
  const std::lock_guard lock(mutex_);
  in_lot_ = false;
}

std::vector<std::int64_t> WatchedRows::fetched() const {
  const std::lock_guard lock(mutex_);
  return {fetched_.begin(), fetched_.end()};
}

// A record that is taken away throws, and so leaves an empty slot (gradients/row_by_row.h).
Batch WatchedRows::fetch(std::span<const std::int64_t> rows, const Gather& gather) {
  {
    const std::lock_guard lock(mutex_);
    fetched_.insert(rows.begin(), rows.end());
    if (!in_lot_) return gather(rows);
  }
  if (removed_ && std::ranges::find(rows, *removed_) != rows.end()) throw InputError("this record was taken away by the audit");
  const auto place = replaced_ ? std::ranges::find(rows, replaced_->row) : rows.end();
  if (place == rows.end()) return gather(rows);
  std::vector<std::int64_t> instead(rows.begin(), rows.end());
  const auto at = place - rows.begin();
  instead[at] = replaced_->inputs_of;
  const Batch inputs_of = gather(instead);
  instead[at] = replaced_->target_of;
  const at::Tensor targets = gather(instead).targets;
  std::vector<at::Tensor> inputs;
  for (const at::Tensor& tensor : inputs_of.inputs) {
    inputs.push_back(tensor.clone());
    if (tensor.is_floating_point()) inputs.back().select(0, at).mul_(kLarge);
  }
  return {std::move(inputs), targets};
}

WatchedRun::WatchedRun(const AuditSubject& subject, PrivateOptions options, std::shared_ptr<WatchedRows> rows, Watcher& watcher)
    : PrivateSteps(subject.model, subject.fault ? subject.fault->losses(subject.losses) : subject.losses, watched(subject, *rows),
                   changed(subject, std::move(options))),
      fault_(subject.fault),
      rows_(std::move(rows)),
      watcher_(watcher) {
  keep_noised_sums();
  if (!subject.start.empty()) set_parameters(subject.start);
}

void WatchedRun::go_on(const State& state, std::int64_t steps) {
  load_state(state);
  sums_ = steps * plan().method().sums_per_step;
}

Lot WatchedRun::sample(const LotOptions& options) {
  drawn_rate_ = options.charged_rate ? options.sample_rate : std::nullopt;
  Lot lot = PrivateSteps::sample(options);
  flow_.push_back(fmt::format("sample lot {} at rate {} for {} sums", lot.number(), lot.draw().sample_rate(), lot.draw().queries()));
  if (fault_) fault_->begin_lot();
  return lot;
}

std::int64_t WatchedRun::step_taken() const { return std::min(sums_ / plan().method().sums_per_step, plan().steps() - 1); }

ClippedSum WatchedRun::clipped_sum(const Lot& lot, const Query& query) {
  rows_->begin_lot();
  SeenSum seen;
  seen.sum = opened(PrivateSteps::clipped_sum(lot, query));
  seen.lot_number = lot.number();
  seen.rows = rows_->fetched();
  rows_->end_lot();
  const Draw& draw = seen.sum.draw;
  seen.step = step_taken();
  if (fault_) fault_->sum(seen.sum, static_cast<std::int64_t>(seen.rows.size()), seen.step);
  seen.lot = {drawn_rate_.value_or(draw.sample_rate()), draw.cycle(),
              static_cast<std::int64_t>(draw.turn() % static_cast<std::uint64_t>(draw.cycle())), cycle_groups()};
  seen.sensitivity = sensitivity(seen.sum);
  if (!seen.sum.lattice.empty()) {
    const double z = plan().noise().effective(seen.step) * std::sqrt(static_cast<double>(draw.queries()));
    seen.noise_scale = vector_multiplier(z, seen.sum.scalars) * seen.sensitivity;
    ++sums_;
  }
  flow_.push_back(fmt::format("sum of {} values to {} and {} numbers", seen.sum.lattice.size(), seen.sensitivity, seen.sum.scalars.size()));
  ClippedRows passed_on = seen.sum;
  watcher_.pass_on(seen, passed_on);
  if (fault_) fault_->noise(passed_on, seen);
  seen_ = std::move(seen);
  return ClippedSum::vouching_that_rows_are_clipped(std::move(passed_on));
}

Release WatchedRun::release(ClippedSum sum) {
  Release release = PrivateSteps::release(std::move(sum));
  flow_.push_back(fmt::format("release {}", release.number()));
  check_fault(seen_.has_value(), "a release of no sum that the audit has seen");
  seen_->noised.assign(release.noised_sum().begin(), release.noised_sum().end());
  for (const BoundedScalar& scalar : seen_->sum.scalars) seen_->noised_numbers.push_back(release.scalar(scalar.name));
  seen_->released.assign(release.values().begin(), release.values().end());
  watcher_.released(*seen_);
  seen_.reset();
  return release;
}

void WatchedRun::update(const Release& release, double lr_factor) {
  flow_.push_back(fmt::format("update by release {}, factor {}", release.number(), lr_factor));
  PrivateSteps::update(release, lr_factor);
}

}  // namespace fodp
