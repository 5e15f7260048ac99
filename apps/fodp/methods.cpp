// fodp methods: the table of methods, for people and for scripts.
#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/methods/method.h"
#include "fodp/training/options.h"

namespace fodp::app {
namespace {

template <class Options>
void add_options(const MethodEntry& method, nlohmann::ordered_json& list) {
  const Options standard;
  for_each_field(standard, [&](const auto& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    nlohmann::ordered_json usual = FieldText<Value>::json(value);
    if (usual.is_null())
      usual = field.name == "lr" ? nlohmann::ordered_json(method.default_lr) : nlohmann::ordered_json(field.default_text);
    list.push_back({{"name", field.name}, {"default", usual}, {"help", field.help}});
  });
}

nlohmann::ordered_json method_json(const MethodEntry& method) {
  nlohmann::ordered_json options = nlohmann::ordered_json::array();
  add_options<UpdateOptions>(method, options);
  add_options<ClipOptions>(method, options);
  if (method.uses_memory) add_options<FractionalOptions>(method, options);
  return {{"name", method.name}, {"summary", method.summary}, {"event", method.event},    {"queries_per_step", method.queries_per_step},
          {"options", options},  {"source", method.source},   {"formula", method.formula}};
}

void explain(const MethodEntry& method) {
  fmt::print("{}: {}\n\n  {}\n\n  costs     {} a step, {} query of the training data\n  source    {}\n\n  options (default)\n", method.name,
             method.summary, method.formula, method.event, method.queries_per_step, method.source);
  const nlohmann::ordered_json all = method_json(method);
  for (const auto& option : all["options"]) {
    const std::string usual = option["default"].is_string() ? option["default"].get<std::string>() : option["default"].dump();
    fmt::print("    --{:<14} {} ({})\n", option["name"].get<std::string>(), option["help"].get<std::string>(), usual);
  }
}

}  // namespace

int methods(const Words& words) {
  std::string name;
  Flags flags("methods", "What each training method does, releases and costs.", "fodp methods fo-dp-sgd");
  flags.add_positional("NAME", "explain this one", name);
  if (!flags.parse(words)) return 0;

  if (!name.empty()) {
    const MethodEntry& method = find_method(name);
    if (flags.json()) return print_json(method_json(method)), 0;
    return explain(method), 0;
  }
  if (flags.json()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const MethodEntry& method : method_table()) list.push_back(method_json(method));
    return print_json({{"methods", list}}), 0;
  }
  for (const MethodEntry& method : method_table()) fmt::print("{:<12} {:<20} {}\n", method.name, method.event, method.summary);
  fmt::print("\nSGM(q, z): Poisson-sampled Gaussian at rate q with noise z times the sensitivity. fodp methods NAME explains one.\n");
  return 0;
}

}  // namespace fodp::app
