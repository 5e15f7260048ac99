#include "train_flags.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "alternatives.h"
#include "command.h"
#include "fodp/data/own_data.h"
#include "fodp/training/feature_defaults.h"
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
  for (const DataKind& kind : data_kinds()) data.emplace_back(kind.name);
  flags.values("data", data);
}

// The kind of data that the words ask for, if it is one of the user's own.
const DataKind* kind_asked_for(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--data" && i + 1 < words.size()) return find_data_kind(words[i + 1]);
    if (words[i].starts_with("--data=")) return find_data_kind(std::string_view(words[i]).substr(7));
  }
  return nullptr;
}

// The options of a kind of data are shown to whoever asks for that kind.
void hide_other_kinds(Flags& flags, const DataKind* asked) {
  std::set<std::string_view> hidden;
  for (const DataKind& kind : data_kinds()) hidden.insert(kind.reads.begin(), kind.reads.end());
  if (asked)
    for (const std::string_view option : asked->reads) hidden.erase(option);
  for (const std::string_view option : hidden) flags.describe(option, std::nullopt);
}

}  // namespace

void TrainFlags::show_options_of(const std::vector<std::string>& words) {
  const bool help = std::ranges::any_of(words, [](const std::string& word) { return word == "--help" || word == "-h"; });
  if (help) hide_other_kinds(flags, kind_asked_for(words));
}

void TrainFlags::fill_feature_defaults(bool tell) {
  const std::vector<std::string> filled =
      fodp::fill_feature_defaults(options, [this](std::string_view option) { return flags.set(option); });
  if (filled.empty() || !tell || flags.quiet()) return;
  std::string list;
  for (const std::string& one : filled) list += (list.empty() ? "--" : " --") + one;
  note(fmt::format("fodp: for a linear model on features, where nothing else was asked for: {}\n", list));
}

TrainFlags::TrainFlags(std::string command, std::string about, std::string example)
    : flags(std::move(command), std::move(about), std::move(example)) {
  for (const OptionView& view : parts_of(options)) flags.add(view.heading, *view.part, view.options);
  describe_names(flags);
  for (const char* name : {"spent", "train", "test"}) flags.repeatable(name);
  flags.describe("data",
                 "data set: fashion-mnist, mnist, cifar-10, cifar-100 or svhn; or your own, as table, tensors or images: "
                 "fodp train --data table --help shows the options of tables, and likewise");
  for (const auto& [one, other] : kAlternatives) flags.alternatives({std::string(one), std::string(other)});
}

}  // namespace fodp::app
