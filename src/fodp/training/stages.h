// The entries that a run is made of, one of each stage's table and a method.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "fodp/training/options.h"

namespace fodp {

struct Stages {
  const MethodEntry* method;
  const ClippingEntry* clipping;
  const ReleaseEntry* release;
  const FilterEntry* filter;
  const UpdateEntry* update;
  const AveragingEntry* averaging;

  // f(stage, entry) for each of them.
  template <class F>
  void for_each(F&& f) const {
    f("method", *method);
    f("clipping", *clipping);
    f("release", *release);
    f("filter", *filter);
    f("update", *update);
    f("averaging", *averaging);
  }

  bool reads(std::string_view option) const;  // whether any of them reads an option of a stage
  Chosen chosen(GroupClip grouping) const;

  void fill(OptionSet& options, const RunContext& context) const;
  void check(const RunContext& context) const;
};

// f(stage, table) for the table of every stage, and that of methods.
template <class F>
void for_each_table(F&& f) {
  f("clipping", clipping_table());
  f("update", update_table());
  f("filter", filter_table());
  f("averaging", averaging_table());
  f("release", release_table());
  f("method", method_table());
}

// The entries that these options name, with the method's own where they name none. What was left open and the method has a default of its
// own for is filled in.
Stages choose_stages(PrivateOptions& options);

// The methods' own learning rates are for classes, whose outputs may be of any size. A number is learnt within [-1, 1], where the step of a
// clipped gradient, as long as the rate, must be small: the rate for it in place of a method's own.
double lr_for_numbers(double lr);

// The learning rate of a run whose rate and steps are planned (accounting/run_choice.h), from its usual one: as much in all as that has in
// kPlannedSteps steps, and no more than leaves noise of norm kMostEndNoise in the parameters at the end. Two digits, from public constants
// only. Update rules that scale a gradient by its own size have no such bound.
double planned_lr(double usual, const Stages& stages, const RunContext& context);
inline constexpr double kMostEndNoise = 22;

// The learning rate of a linear model whose inputs have norm 1, from public constants only: as large as leaves noise of standard deviation
// kLogitNoise in the output for a class at the end, but no larger than lets the gradients, each as long as the clip norm, move the
// parameters by kMostTravel in all. Two digits. Nothing for update rules that do not move along gradients. docs/features.md has the
// measurements behind both constants.
std::optional<double> unit_norm_lr(const Stages& stages, const RunContext& context);
inline constexpr double kLogitNoise = 2, kMostTravel = 140000;

// The parts of a run, made from one context.
struct RunParts {
  std::unique_ptr<Method> method;
  std::unique_ptr<ClipRule> clipping;
  std::vector<std::unique_ptr<Mechanism>> mechanisms;  // one for each sum of a step, each with a memory of its own
  std::unique_ptr<Filter> filter;                      // none if releases go to the update as they are
  std::unique_ptr<Update> update;
  std::unique_ptr<WeightAverage> average;  // none if the last parameters are used
};

RunParts make_parts(const Stages& stages, const RunContext& context);

}  // namespace fodp
