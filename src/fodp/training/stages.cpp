#include "fodp/training/stages.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"

namespace fodp {
namespace {

template <class Entry>
const Entry* pick(Table<Entry> table, std::string_view stage, std::optional<std::string>& asked, std::string_view own) {
  if (!asked) asked = own.empty() ? table.front()->name : own;
  return &find_entry(table, stage, *asked);
}

// The method's own learning rate with stages that need rates like its own; else what suits the update rule and the filter.
double usual_lr(const Stages& stages, const OptionSet& options) {
  const MethodEntry& method = *stages.method;
  std::optional<std::string> update, filter;
  const double own_update_lr = pick(update_table(), "update", update, method.update)->traits.lr;
  const std::optional<double> own_filter_lr = pick(filter_table(), "filter", filter, method.filter)->traits.lr(OptionSet());
  const double update_lr = stages.update->traits.lr;
  const std::optional<double> filter_lr = stages.filter->traits.lr(options);
  if (update_lr == own_update_lr && filter_lr == own_filter_lr) return parse_number(method.standard("lr"), "lr", at_least(0));
  return update_lr == UpdateTraits().lr ? filter_lr.value_or(update_lr) : update_lr;
}

void apply_method_defaults(PrivateOptions& options, const MethodEntry& method) {
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields) {
      const std::string_view standard = method.standard(field.name);
      const bool open = std::holds_alternative<std::monostate>(field.value(view.options));
      if (open && !standard.empty()) field.set(view.options, standard, field.name);
    }
}

// Of a gradient coordinate, in a step.
double noise_of_step(const RunContext& context) {
  return context.largest_effective_noise * context.sensitivity * context.clip_norm * context.end_noise;
}

double two_digits_below(double rate) {
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 1);
  return parse_number(fmt::format("{:.1e}", std::floor(rate / unit) * unit), "lr", at_least(0));
}

}  // namespace

bool Stages::reads(std::string_view option) const {
  bool found = false;
  for_each([&](std::string_view, const auto& entry) {
    found = found || std::ranges::any_of(entry.options, [&](const Reads& own) { return own.reads(option); });
  });
  return found;
}

Chosen Stages::chosen(GroupClip grouping) const {
  return {.method = method->name,
          .release = release->name,
          .filter = filter->name,
          .update = update->name,
          .clipping = clipping->name,
          .averaging = averaging->name,
          .sums_per_step = method->sums_per_step,
          .own_sampling = method->own_sampling,
          .clips_layers = grouping != GroupClip::whole,
          .norm_moves = clipping->traits.reach > 1,
          .counts_rows = clipping->traits.counts_rows,
          .noise_is_known = release->traits.noise_is_known,
          .filters = filter->make != nullptr,
          .needs_noise_variance = update->traits.needs_noise_variance};
}

void Stages::fill(OptionSet& options, const RunContext& context) const {
  for_each([&](std::string_view, const auto& entry) {
    if (entry.fill) entry.fill(options, context);
  });
}

void Stages::check(const RunContext& context) const {
  for_each([&](std::string_view, const auto& entry) {
    if (entry.check) entry.check(context);
  });
}

Stages choose_stages(PrivateOptions& options) {
  const MethodEntry& method = find_method(options.method);
  StageOptions& asked = options.stages;
  const Stages stages{.method = &method,
                      .clipping = pick(clipping_table(), "clipping", asked.clipping, method.clipping),
                      .release = pick(release_table(), "release", asked.release, method.release),
                      .filter = pick(filter_table(), "filter", asked.filter, method.filter),
                      .update = pick(update_table(), "update", asked.update, method.update),
                      .averaging = pick(averaging_table(), "averaging", asked.averaging, method.averaging)};
  options.method = method.name;
  if (!options.update.lr) options.update.lr = usual_lr(stages, options.own);
  apply_method_defaults(options, method);
  if (!options.clip.group_clip)
    options.clip.group_clip = stages.release->traits.by_layer && !method.weighs_rows ? GroupClip::shared : GroupClip::whole;
  return stages;
}

double lr_for_numbers(double lr) { return std::min(lr, .1); }

double planned_lr(double usual, const Stages& stages, const RunContext& context) {
  const double steps = static_cast<double>(context.steps), planned = static_cast<double>(kPlannedSteps);
  const double equal = context.steps == kPlannedSteps ? usual : usual * planned / steps;
  const double noise = noise_of_step(context);
  if (noise == 0 || stages.update->traits.lr != UpdateTraits().lr) return equal;
  const double most = kMostEndNoise * context.expected_lot() / (noise * std::sqrt(steps * static_cast<double>(context.parameters)));
  return most >= equal ? equal : two_digits_below(most);
}

std::optional<double> unit_norm_lr(const Stages& stages, const RunContext& context) {
  const UpdateTraits& update = stages.update->traits;
  if (update.lr != UpdateTraits().lr || stages.filter->traits.lr(context.options)) return std::nullopt;
  const double steps = static_cast<double>(context.steps), noise = noise_of_step(context);
  double most = kMostTravel / (context.clip_norm * steps);
  if (noise > 0) most = std::min(most, kLogitNoise * context.expected_lot() / (noise * std::sqrt(steps)));
  return two_digits_below(most / update.gain(context.options));
}

RunParts make_parts(const Stages& stages, const RunContext& context) {
  RunParts parts{.method = stages.method->make(context), .clipping = stages.clipping->make(context)};
  for (std::int64_t query = 0; query < stages.method->sums_per_step; ++query) parts.mechanisms.push_back(stages.release->make(context));
  if (stages.filter->make) parts.filter = stages.filter->make(context);
  parts.update = stages.update->make(context);
  if (stages.averaging->make) parts.average = stages.averaging->make(context);
  return parts;
}

}  // namespace fodp
