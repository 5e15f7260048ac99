// fodp account: events in, (epsilon, delta) out. No data, no LibTorch.
#include <filesystem>
#include <fstream>

#include "command.h"
#include "flags.h"
#include "fodp/accounting/rdp.h"

namespace fodp::app {
namespace {

struct AccountOptions {
  std::optional<double> sample_rate, noise_multiplier;
  double beta = 1;
  std::optional<std::int64_t> steps;
  std::optional<double> delta, epsilon;
  AccountantKind accountant = AccountantKind::rdp;
  Conversion conversion = Conversion::improved;
  std::optional<double> order;
  std::optional<std::string> events;

  static auto fields() {
    using Self = AccountOptions;
    return std::tuple{
        field("sample-rate", &Self::sample_rate, "q: the chance of each record to be in a step's lot", above_up_to(0, 1)),
        field("noise-multiplier", &Self::noise_multiplier, "sigma: standard deviation of the noise over the clip norm",
              above_up_to(0, 1e6)),
        field("beta", &Self::beta, "weight of the current sum in a query with memory: charged at sigma/beta", above_up_to(0, 1)),
        field("steps", &Self::steps, "T: how many steps", between(1, 1e12)),
        field("delta", &Self::delta, "give epsilon at this delta", strictly_between(0, 1)),
        field("epsilon", &Self::epsilon, "instead of --delta: give delta at this epsilon", at_least(0)),
        field("accountant", &Self::accountant, "rdp: Renyi, an upper bound"),
        field("conversion", &Self::conversion, "from Renyi to (epsilon, delta): improved, or classic (the paper's eq. 40)"),
        field("order", &Self::order, "also give the Renyi divergence of the whole run at this order", above(1)),
        field("events", &Self::events, "a run that varies: a JSON list of {sample_rate, noise_multiplier, beta, steps}"),
    };
  }
};

constexpr char kExample[] = "fodp account --sample-rate .04 --noise-multiplier 1.1 --beta .9 --steps 6250 --delta 1e-5";

Composed one_event(double sample_rate, double noise_multiplier, double beta, std::int64_t steps) {
  return {Event::poisson_gaussian(sample_rate, noise_multiplier / beta), steps};
}

// An entry has the same fields, ranges and messages as the flags.
Composed read_entry(const nlohmann::json& entry, const std::string& where) {
  check_input(entry.is_object(), "{}: expected an object", where);
  AccountOptions options;
  const char* allowed[] = {"sample_rate", "noise_multiplier", "beta", "steps"};
  for (const auto& [name, value] : entry.items()) {
    check_input(std::find(std::begin(allowed), std::end(allowed), name) != std::end(allowed), "{}: '{}' is not known: {}", where, name,
                suggestion(name, {std::begin(allowed), std::end(allowed)}));
    check_input(value.is_number(), "{}: {} is {}: must be a number", where, name, value.dump());
    for_each_field(options, [&, &key = name, &number = value](const auto& field, auto& target) {
      if (json_name(field.name) == key)
        target = FieldText<std::remove_cvref_t<decltype(target)>>::parse(number.dump(), where + ": " + key, field.range);
    });
  }
  for (const char* name : {"sample_rate", "noise_multiplier", "steps"}) check_input(entry.contains(name), "{}: {} is missing", where, name);
  return one_event(*options.sample_rate, *options.noise_multiplier, options.beta, *options.steps);
}

Events read_events(const std::string& file) {
  std::ifstream stream(file);
  check_input(stream.good() && std::filesystem::is_regular_file(file), "--events {}: not a file that can be read", file);
  nlohmann::json list;
  try {
    list = nlohmann::json::parse(stream);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("--events {}: not JSON: {}", file, error.what()));
  }
  check_input(list.is_array() && !list.empty(), "--events {}: expected a list with at least one entry", file);
  Events events;
  for (std::size_t i = 0; i < list.size(); ++i) events.push_back(read_entry(list[i], fmt::format("--events {}: entry {}", file, i + 1)));
  return events;
}

Events events_of(const AccountOptions& options, const Flags& flags) {
  if (options.events) {
    for (const char* name : {"sample-rate", "noise-multiplier", "beta", "steps"})
      check_input(!flags.given(name), "--events and --{}: give one form or the other", name);
    return read_events(*options.events);
  }
  const std::pair<const char*, bool> needed[] = {{"--sample-rate", options.sample_rate.has_value()},
                                                 {"--noise-multiplier", options.noise_multiplier.has_value()},
                                                 {"--steps", options.steps.has_value()}};
  for (const auto& [name, there] : needed) check_input(there, "{} is missing; for example: {}", name, kExample);
  return {one_event(*options.sample_rate, *options.noise_multiplier, options.beta, *options.steps)};
}

}  // namespace

int account(const Words& words) {
  AccountOptions options;
  Flags flags("account",
              "What a private run costs. Assumes Poisson sampling (each record is in each lot independently with probability q), Gaussian "
              "noise of standard deviation sigma*C on a sum clipped to C per record, and neighbours that differ by adding or removing one "
              "record. Exact arithmetic is assumed; a training adds what its finite precision costs.",
              kExample);
  flags.add("The run", options);
  if (!flags.parse(words)) return 0;
  check_input(!(options.delta && options.epsilon), "--delta and --epsilon: give one of them");
  check_input(options.delta || options.epsilon, "--delta is missing (or --epsilon, to be told delta); for example: {}", kExample);

  const Events events = events_of(options, flags);
  make_accountant(options.accountant, options.conversion);  // refuses what is not there
  const RdpAccountant rdp(options.conversion);
  nlohmann::ordered_json out;
  out["accountant"] = rdp.name();
  Spent spent;
  if (options.delta) {
    spent = rdp.epsilon(events, *options.delta);
    out["epsilon"] = json_number(spent.epsilon);
    out["epsilon_lower"] = json_number(spent.epsilon_lower);
    out["delta"] = *options.delta;
  } else {
    spent = rdp.delta(events, *options.epsilon);
    out["epsilon"] = *options.epsilon;
    out["delta"] = json_number(spent.delta);
    out["delta_lower"] = 0.0;
  }
  out["effective_noise_multiplier"] = options.events ? nlohmann::ordered_json() : json_number(events.front().event.noise_multiplier);
  out["steps"] = total_count(events);
  out["adjacency"] = "add/remove";
  out["order"] = json_number(spent.order);
  if (options.order) out["rdp"] = json_number(rdp.rdp(events, *options.order));

  if (flags.json()) {
    print_json(out);
    return 0;
  }
  fmt::print("epsilon {} at delta {}\n", upper_text(options.epsilon.value_or(spent.epsilon)),
             upper_text(options.delta.value_or(spent.delta)));
  fmt::print("  {} steps, Poisson sampling, add/remove adjacency; Renyi accounting at order {}, an upper bound\n", total_count(events),
             upper_text(spent.order));
  if (options.order)
    fmt::print("  Renyi divergence at order {}: {}\n", upper_text(*options.order), upper_text(rdp.rdp(events, *options.order)));
  return 0;
}

}  // namespace fodp::app
