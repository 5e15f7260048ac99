// fodp methods: the table of methods, for people and for scripts.
#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/methods/method.h"
#include "fodp/training/plan.h"

namespace fodp::app {
namespace {

// The options that the method's own stages read, with its defaults.
nlohmann::ordered_json options_json(const MethodEntry& method) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  MethodOptions options;
  const Stages stages = resolve_stages(options, method);
  options.memory.beta = options.memory.beta_schedule();
  options.memory.stability = stages.release == ReleaseKind::spectral ? 1e-8 : 1e-12;
  MethodOptions::for_each_part(options, [&](std::string_view, const auto& part) {
    for_each_field(part, [&](const auto& field, const auto& value) {
      if (!stages.read(part, field.name)) return;
      nlohmann::ordered_json usual = FieldText<std::remove_cvref_t<decltype(value)>>::json(value);
      if (usual.is_null()) usual = field.default_text;
      list.push_back({{"name", field.name}, {"default", usual}, {"help", field.help}});
    });
  });
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
                                {"reading", method.reading}};
  if (!method.alias.empty()) {
    out["alias"] = method.alias;
    out["alias_reason"] = method.alias_reason;
  }
  return out;
}

// Broken into lines at blanks, each after `indent`.
std::string wrapped(std::string_view text, const std::string& indent, std::size_t width = 110) {
  std::string out, line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (!line.empty() && indent.size() + line.size() + 1 + end > width) {
      out += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + indent + line + "\n";
}

// A clause a line.
std::string formula_lines(std::string_view formula) {
  std::string out;
  while (!formula.empty()) {
    const std::size_t end = formula.find(";  ");
    out += wrapped(formula.substr(0, end), "  ");
    formula.remove_prefix(end == std::string_view::npos ? formula.size() : end + 3);
  }
  return out;
}

std::string queries(const MethodEntry& method) {
  return fmt::format("{} {} of the training data a step", method.queries_per_step, method.queries_per_step == 1 ? "query" : "queries");
}

void explain(const MethodEntry& method) {
  fmt::print("{}: {}\n\n{}\n  costs     {}; {}\n  source    {}\n", method.name, method.summary, formula_lines(method.formula), method.event,
             queries(method), method.source);
  if (!method.reading.empty()) fmt::print("\nHow it is read here\n{}", wrapped(method.reading, "  "));
  if (!method.alias.empty()) fmt::print("\nAlso called {}\n{}", method.alias, wrapped(method.alias_reason, "  "));
  fmt::print("\nOptions (default)\n");
  for (const auto& option : options_json(method))
    fmt::print("  --{:<18} {} ({})\n", option["name"].get<std::string>(), option["help"].get<std::string>(), text_of(option["default"]));
}

void list_all() {
  for (const MethodEntry& method : method_table()) {
    const std::string also = method.alias.empty() ? "" : fmt::format(" (also {})", method.alias);
    std::string options;
    for (const auto& option : options_json(method))
      options += (options.empty() ? "" : ", ") + option["name"].get<std::string>() + "=" + text_of(option["default"]);
    fmt::print("{}{}: {}\n  costs    {}; {}\n  source   {}\n  options\n{}\n", method.name, also, method.summary, method.event,
               queries(method), method.source, wrapped(options, "    "));
  }
  fmt::print(
      "SGM(q, z): Poisson-sampled Gaussian at rate q with noise z times the sensitivity. Methods take other --release, --filter, "
      "--update,\n"
      "--clipping and --averaging than their own; what cannot be charged or computed is refused with a reason. fodp methods NAME explains "
      "one.\n");
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
  return list_all(), 0;
}

}  // namespace fodp::app
