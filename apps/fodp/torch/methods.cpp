// fodp methods: the table of methods, for people and for scripts.
#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/base/fields_json.h"
#include "fodp/training/stages.h"
#include "text.h"

namespace fodp::app {
namespace {

// A run of other sizes than the usual one: what is the same for both does not depend on the run.
RunContext other_run() {
  RunContext context;
  context.train_examples = 7;
  context.sample_rate = .02;
  context.steps = 600;
  context.target = {.epsilon = 8, .delta = 1e-5};
  context.clip_norm = 3;
  return context;
}

// The options that the method's own stages read, with its defaults: the number where it is the same for every run, else how it follows.
nlohmann::ordered_json options_json(const MethodEntry& method) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  PrivateOptions options{.method = std::string(method.name)};
  const Stages stages = choose_stages(options);
  OptionSet one = options.own, other = options.own;
  stages.fill(one, RunContext());
  stages.fill(other, other_run());
  for (const OptionView& view : parts_of(options)) {
    const bool shared = view.options == &options.stages || view.options == &options.clip || view.options == &options.update;
    const bool of_stages = options.own.look(*view.part) == view.options;
    for (const OptionField& field : view.part->fields) {
      if (!shared && !(of_stages && stages.reads(field.name))) continue;
      FieldValue value = field.value(view.options);
      if (of_stages && field.value(one.look(*view.part)) == field.value(other.look(*view.part))) value = field.value(one.look(*view.part));
      const bool open = std::holds_alternative<std::monostate>(value);
      list.push_back({{"name", field.name},
                      {"default", open ? nlohmann::ordered_json(with_dashes(field.standard)) : json_value(value)},
                      {"help", with_dashes(field.help)}});
    }
  }
  return list;
}

std::string text_of(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? number_text(value.get<double>()) : value.dump();
}

nlohmann::ordered_json method_json(const MethodEntry& method) {
  nlohmann::ordered_json out = {{"name", method.name},
                                {"summary", method.summary},
                                {"event", method.event},
                                {"queries_per_step", method.queries_per_step},
                                {"options", options_json(method)},
                                {"source", method.source},
                                {"formula", method.formula},
                                {"reading", with_dashes(std::string(method.reading))}};
  if (!method.alias.empty()) {
    out["alias"] = method.alias;
    out["alias_reason"] = method.alias_reason;
  }
  return out;
}

// A clause a line.
std::string formula_lines(std::string_view formula) {
  std::string out;
  while (!formula.empty()) {
    const std::size_t end = formula.find(";  ");
    out += fmt::format("  {}\n", formula.substr(0, end));
    formula.remove_prefix(end == std::string_view::npos ? formula.size() : end + 3);
  }
  return out;
}

std::string queries(const MethodEntry& method) {
  return fmt::format("{} {} of the training data a step", method.queries_per_step, method.queries_per_step == 1 ? "query" : "queries");
}

void explain(const MethodEntry& method) {
  std::string text = fmt::format("{}: {}\n\n{}\n  costs     {}; {}\n  source    {}\n", method.name, method.summary,
                                 formula_lines(method.formula), method.event, queries(method), method.source);
  if (!method.reading.empty()) text += fmt::format("\nHow it is read here\n  {}\n", with_dashes(std::string(method.reading)));
  if (!method.alias.empty()) text += fmt::format("\nAlso called {}\n  {}\n", method.alias, method.alias_reason);
  text += "\nOptions (default)\n";
  for (const auto& option : options_json(method))
    text += fmt::format("  --{:<18}  {} ({})\n", option["name"].get<std::string>(), option["help"].get<std::string>(),
                        text_of(option["default"]));
  print_text(text);
}

void list_all() {
  for (const MethodEntry* entry : method_table()) {
    const MethodEntry& method = *entry;
    const std::string also = method.alias.empty() ? "" : fmt::format(" (also {})", method.alias);
    std::string options;
    for (const auto& option : options_json(method))
      options += (options.empty() ? "" : ", ") + option["name"].get<std::string>() + "=" + text_of(option["default"]);
    print_text(fmt::format("{}{}: {}\n  costs    {}; {}\n  source   {}\n  options  {}\n\n", method.name, also, method.summary, method.event,
                           queries(method), method.source, options));
  }
  print_text(
      "SGM(q, z): Poisson-sampled Gaussian at rate q with noise z times the sensitivity. Methods take other --release, --filter, "
      "--update, --clipping and --averaging than their own; what cannot be charged or computed is refused with a reason. fodp methods "
      "NAME explains one.\n");
}

}  // namespace

int methods(const Words& words) {
  std::string name;
  Flags flags("methods", "What each training method does, releases and costs.", "fodp methods fo-dp-sgd");
  flags.add_positional("NAME", "explain this one", name);
  std::vector<std::string> names;
  for (const MethodEntry* method : method_table()) names.emplace_back(method->name);
  flags.values("NAME", names);
  if (!flags.parse(words)) return 0;

  if (!name.empty()) {
    const MethodEntry& method = find_method(name);
    if (flags.json()) return print_json(method_json(method)), 0;
    return explain(method), 0;
  }
  if (flags.json()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const MethodEntry* method : method_table()) list.push_back(method_json(*method));
    return print_json({{"methods", list}}), 0;
  }
  return list_all(), 0;
}

}  // namespace fodp::app
