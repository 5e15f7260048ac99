// A person with many rows is one record to every method and every clipping rule: with or without it, a sum moves by at most what is
// claimed.
#include <algorithm>
#include <cmath>
#include <functional>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "fodp/audit/audit.h"
#include "fodp/audit/watched_run.h"
#include "fodp/data/row_views.h"
#include "fodp/noise/lattice.h"
#include "fodp/training/objective.h"
#include "fodp/training/trainer.h"

namespace fodp {
namespace {

constexpr std::int64_t kPeople = 60, kRowsOfLoud = 1000, kInputs = 5;

// Person 0 has a thousand rows with gradients far beyond the clip norm, all others have two rows each.
std::shared_ptr<const UnitRows> people(std::int64_t rows_per_unit) {
  at::manual_seed(4);
  const std::int64_t quiet = 2 * (kPeople - 1);
  const at::Tensor inputs = at::cat({at::full({kRowsOfLoud, kInputs}, 50.0f), at::randn({quiet, kInputs})});
  const at::Tensor targets = at::cat({at::zeros({kRowsOfLoud}, at::kLong), at::arange(quiet).remainder(2)});
  std::vector<std::int64_t> unit, all;
  for (std::int64_t row = 0; row < kRowsOfLoud + quiet; ++row) {
    unit.push_back(row < kRowsOfLoud ? 0 : 1 + (row - kRowsOfLoud) / 2);
    all.push_back(row);
  }
  return rows_by_unit(std::make_shared<TensorRows>(inputs, targets, 2), unit, all, rows_per_unit);
}

struct Subject {
  explicit Subject(std::int64_t rows_per_unit) : rows(people(rows_per_unit)), objective(objective_for(rows->target())) {
    at::manual_seed(1);
    model = make_model({.model = ModelKind::linear}, InputShape::of(std::vector<std::int64_t>{kInputs}, 2));
  }
  AuditSubject audited(const PrivateOptions& options) {
    return {.model = *model.module,
            .losses = [this](const Tensors& inputs,
                             const at::Tensor& targets) { return unit_losses(objective, model.forward(inputs), targets); },
            .rows = training_rows(*rows),
            .options = options};
  }
  std::shared_ptr<const UnitRows> rows;
  const Objective& objective;
  Model model;
};

// The first sum that person 0 is in.
struct FirstSum : Watcher {
  void pass_on(const SeenSum& seen, ClippedRows&) override {
    if (!sum && std::ranges::binary_search(seen.rows, 0)) sum = seen;
  }
  std::optional<SeenSum> sum;
};

SeenSum first_sum(const PrivateOptions& options, std::int64_t rows_per_unit, bool with_loud) {
  Subject subject(rows_per_unit);
  const AuditSubject audited = subject.audited(options);
  auto rows = std::make_shared<WatchedRows>(audited.rows.gather, audited.rows.gather_drawn);
  if (!with_loud) rows->remove(0);
  FirstSum watcher;
  WatchedRun run(audited, options, rows, watcher);
  while (!watcher.sum) run.step();  // of correlated noise one of two groups has its turn; PrivacyError after the last step
  return *watcher.sum;
}

double distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, double grid) {
  double squared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squared += std::pow(static_cast<double>(a[i] - b[i]) * grid, 2);
  return std::sqrt(squared);
}

void expect_bounded(const PrivateOptions& options, std::int64_t rows_per_unit) {
  const SeenSum with = first_sum(options, rows_per_unit, true), without = first_sum(options, rows_per_unit, false);
  ASSERT_EQ(with.sum.lattice.size(), without.sum.lattice.size());
  const double moved = distance(with.sum.lattice, without.sum.lattice, with.sum.grid);
  EXPECT_LE(moved, with.sensitivity * (1 + with.sum.slack));
  double largest = moved;
  for (std::size_t i = 0; i < with.sum.scalars.size(); ++i) {
    const double bound = with.sum.scalars[i].sensitivity;
    const double change = std::abs(with.sum.scalar_lattice[i] - without.sum.scalar_lattice[i]) * scalar_grid(bound);
    EXPECT_LE(change, bound) << with.sum.scalars[i].name;
    largest = std::max(largest, change / bound);
  }
  EXPECT_GT(largest, .1) << "the person counts";
}

PrivateOptions options_of(std::string_view method) {
  PrivateOptions options{.method = std::string(method), .insecure_seed = 3};
  options.privacy = {.noise_multiplier = 1, .delta = 1e-5, .sample_rate = .5, .steps = 4};
  options.clip.clip_norm = .25;
  options.speed.threads = 1;
  return options;
}

TEST(Units, APersonWithAThousandRowsMovesTheSumOfEveryMethodByAtMostItsBound) {
  for (const MethodEntry* method : method_table())
    for (const std::int64_t rows_per_unit : {1, 4}) {
      SCOPED_TRACE(fmt::format("{}, {} rows per unit", method->name, rows_per_unit));
      expect_bounded(options_of(method->name), rows_per_unit);
    }
}

TEST(Units, APersonWithAThousandRowsIsBoundedByEveryClippingRule) {
  for (const ClippingEntry* rule : clipping_table())
    for (const char* grouping : {"whole", "shared", "each"})
      for (const std::int64_t rows_per_unit : {1, 4}) {
        SCOPED_TRACE(fmt::format("{}, {}, {} rows per unit", rule->name, grouping, rows_per_unit));
        PrivateOptions options = options_of("dp-sgd");
        options.stages.clipping = std::string(rule->name);
        options.set("group-clip", grouping);
        expect_bounded(options, rows_per_unit);
      }
}

}  // namespace
}  // namespace fodp
