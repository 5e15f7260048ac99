#include "fodp/training/options.h"

#include <algorithm>
#include <map>

#include "fodp/base/check.h"
#include "fodp/training/stages.h"

namespace fodp {
namespace {

template <class Options>
OptionView view(std::string heading, Options& options) {
  return {std::move(heading), &option_part<Options>(), &options};
}

// The options of all stages and methods, each under the names of the entries that read it: "release fractional, spectral; filter memory".
std::vector<std::pair<const OptionPart*, std::string>> stage_parts() {
  std::vector<std::pair<const OptionPart*, std::string>> parts;
  for_each_table([&](std::string_view stage, auto table) {
    std::map<const OptionPart*, bool> of_stage;
    for (const auto* entry : table)
      for (const Reads& read : entry->options) {
        auto found = std::ranges::find(parts, read.part, [](const auto& item) { return item.first; });
        if (found == parts.end()) found = parts.insert(parts.end(), {read.part, ""});
        std::string& readers = found->second;
        const bool more = of_stage[read.part];
        readers += more ? ", " : readers.empty() ? std::string(stage) + " " : "; " + std::string(stage) + " ";
        readers += entry->name;
        of_stage[read.part] = true;
      }
  });
  return parts;
}

}  // namespace

std::vector<OptionView> parts_of(PrivateOptions& options) {
  std::vector<OptionView> views = {view("Method", options), view("Privacy", options.privacy), view("Stages of the method", options.stages),
                                   view("Clipping", options.clip), view("Update", options.update)};
  for (const auto& [part, readers] : stage_parts()) views.push_back({"Read by " + readers, part, options.own.edit(*part)});
  views.push_back(view("Speed", options.speed));
  return views;
}

std::vector<OptionView> parts_of(TrainOptions& options) {
  std::vector<OptionView> views = {view("What to train", options.run), view("Data", options.data), view("Model", options.model)};
  for (OptionView& inner : parts_of(static_cast<PrivateOptions&>(options))) views.push_back(std::move(inner));
  return views;
}

void PrivateOptions::set(std::string_view option, std::string_view text) {
  std::vector<std::string_view> known;
  for (const OptionView& part : parts_of(*this))
    for (const OptionField& field : part.part->fields) {
      if (field.name == option) return field.set(part.options, text, option);
      known.push_back(field.name);
    }
  throw InputError(fmt::format("'{}' is not an option: {}", option, suggestion(option, known)));
}

}  // namespace fodp
