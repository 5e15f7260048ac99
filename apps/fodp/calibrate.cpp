// fodp calibrate: a target (epsilon, delta) and all but one number of a run in, that number out. No data, no LibTorch.
#include "fodp/accounting/calibrate.h"

#include "assumptions.h"
#include "command.h"
#include "flags.h"
#include "fodp/accounting/run_file.h"
#include "fodp/base/fields_json.h"

namespace fodp::app {
namespace {

struct CalibrateOptions {
  std::optional<double> epsilon, delta;
  std::optional<Unknown> solve;
  AccountantKind accountant = AccountantKind::pld;
  Conversion conversion = Conversion::improved;

  static auto fields() {
    using Self = CalibrateOptions;
    return std::tuple{
        field("epsilon", &Self::epsilon, "the target, never exceeded", above(0)),
        field("delta", &Self::delta, "chance that the guarantee fails", strictly_between(0, 1)),
        field("solve", &Self::solve, "noise-multiplier, steps, sample-rate or beta", {}, "the one that is not given"),
        field("accountant", &Self::accountant, "pld: privacy loss distributions; rdp: Renyi, an upper bound that is less tight"),
        field("conversion", &Self::conversion, "rdp, from Renyi to (epsilon, delta): improved, or classic (the paper's eq. 40)"),
    };
  }
};

constexpr char kExample[] = "fodp calibrate --epsilon 3 --delta 1e-5 --sample-rate .04 --steps 6250 --beta .9";

// The one that is not given; beta may always be left at 1.
Unknown unknown_of(const CalibrateOptions& options, const StepOptions& step) {
  std::vector<Unknown> open;
  for_each_field(step, [&](const auto& field, const auto& value) {
    if (!value) open.push_back(FieldText<Unknown>::parse(field.name, field.name, {}));
  });
  std::string names;
  for (Unknown candidate : open)
    if (candidate != Unknown::beta) names += (names.empty() ? "--" : " and --") + std::string(enum_name(candidate));
  const bool beta_open = !step.beta;
  if (options.solve) {
    for (Unknown candidate : open)
      check_input(candidate == *options.solve || candidate == Unknown::beta,
                  "--{} is missing: --solve {} needs all the others; for example: {}", enum_name(candidate), enum_name(*options.solve),
                  kExample);
    check_input(std::find(open.begin(), open.end(), *options.solve) != open.end(), "--solve {} and --{}: it cannot be given and solved for",
                enum_name(*options.solve), enum_name(*options.solve));
    return *options.solve;
  }
  check_input(open.size() <= (beta_open ? 2u : 1u), "{} are missing: give all but one; for example: {}", names, kExample);
  check_input(!open.empty(), "all of the run is given: leave out what is to be solved for; for example: {}", kExample);
  for (Unknown candidate : open)
    if (candidate != Unknown::beta) return candidate;
  return Unknown::beta;
}

}  // namespace

int calibrate(const Words& words) {
  CalibrateOptions options;
  StepOptions step;
  Flags flags(
      "calibrate",
      std::string("What is left open of a run, solved so that it costs at most epsilon: the least noise, the most steps, the largest "
                  "sample rate or the largest beta. Give the others. ") +
          kAssumptions,
      kExample);
  flags.add("The target", options);
  flags.add("The run", step);
  if (!flags.parse(words)) return 0;
  check_input(options.epsilon.has_value(), "--epsilon is missing; for example: {}", kExample);
  check_input(options.delta.has_value(), "--delta is missing; for example: {}", kExample);

  const Unknown unknown = unknown_of(options, step);
  const PlannedRun planned{.sample_rate = step.sample_rate.value_or(1), .steps = step.steps.value_or(1), .beta = step.beta.value_or(1)};
  const auto accountant = make_accountant(options.accountant, options.conversion);
  const CalibratedRun result =
      fodp::calibrate(planned, step.noise_multiplier.value_or(0), unknown, {*options.epsilon, *options.delta}, *accountant);

  nlohmann::ordered_json solved;
  switch (unknown) {
    case Unknown::noise_multiplier:
      solved = result.noise_multiplier;
      break;
    case Unknown::steps:
      solved = result.run.steps;
      break;
    case Unknown::sample_rate:
      solved = result.run.sample_rate;
      break;
    case Unknown::beta:
      solved = result.run.beta;
      break;
  }
  if (flags.json()) {
    nlohmann::ordered_json out;
    out[json_name(enum_name(unknown))] = solved;
    out["epsilon"] = json_number(result.spent.epsilon);
    out["epsilon_lower"] = json_number(result.spent.epsilon_lower);
    out["delta"] = *options.delta;
    out["accountant"] = accountant->name();
    print_json(out);
    return 0;
  }
  // Every digit: a rounded value might overshoot.
  fmt::print("{} {}\n", enum_name(unknown), solved.dump());
  fmt::print("  epsilon {} at delta {}, within the target {}\n", upper_text(result.spent.epsilon), number_text(*options.delta),
             number_text(*options.epsilon));
  fmt::print("  Poisson sampling, add/remove adjacency; accountant {}\n", accountant->name());
  return 0;
}

}  // namespace fodp::app
