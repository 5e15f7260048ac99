#include "train_flags.h"

#include "alternatives.h"
#include "fodp/training/stages.h"

namespace fodp::app {
namespace {

// The options that are names of a table.
void describe_names(Flags& flags) {
  const auto describe = [&](std::string_view stage, auto table) {
    std::vector<std::string> names;
    for (const auto* entry : table) names.emplace_back(entry->name);
    flags.values(stage, names);
  };
  for_each_table(describe);
  std::vector<std::string> data;
  for (const DataSource& source : data_sources()) data.emplace_back(source.format.name);
  flags.values("data", data);
}

}  // namespace

TrainFlags::TrainFlags(std::string command, std::string about, std::string example)
    : flags(std::move(command), std::move(about), std::move(example)) {
  for (const OptionView& view : parts_of(options)) flags.add(view.heading, *view.part, view.options);
  describe_names(flags);
  flags.repeatable("spent");
  for (const auto& [one, other] : kAlternatives) flags.alternatives({std::string(one), std::string(other)});
}

}  // namespace fodp::app
