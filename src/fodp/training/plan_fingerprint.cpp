// What makes two plans the same (Plan::fingerprint).
#include "fodp/accounting/events_json.h"
#include "fodp/base/fields_json.h"
#include "fodp/base/sha256.h"
#include "fodp/training/plan.h"

namespace fodp {

std::uint64_t Plan::fingerprint() const {
  std::string text =
      fmt::format("{} rows, {} parameters, {} steps, {};", train_examples(), parameters(), steps(), events_to_json(events_).dump());
  if (!unit_is_row()) text += fmt::format("unit {};", unit_);
  if (cycle() > 1) text += "groups by contents;";
  if (!recipe_.empty()) text += fmt::format("recipe {};", recipe_);
  for (const Spending& run : earlier_.runs) text += fmt::format("after {};", events_to_json(run.events).dump());
  if (const ClassWeights& weights = options_.run.class_weights; !weights.empty())
    text += fmt::format("class-weights {};", FieldText<ClassWeights>::print(weights));
  stages_.for_each([&](std::string_view stage, const auto& entry) { text += fmt::format("{} {};", stage, entry.name); });
  PrivateOptions options = options_;
  options.speed = {}, options.insecure_seed = {}, options.insecure_diagnostics = false;
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields)
      text += fmt::format("{} {};", field.name, json_value(field.value(view.options)).dump());
  const auto digest = Sha256().add(text).digest();
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | digest[i];
  return number;
}

}  // namespace fodp
