// fodp account: events in, (epsilon, delta) out. No data, no LibTorch.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "assumptions.h"
#include "command.h"
#include "flags.h"
#include "fodp/accounting/pld.h"
#include "fodp/accounting/rdp.h"
#include "fodp/accounting/run_file.h"
#include "fodp/base/atomic_file.h"
#include "fodp/base/fields_json.h"
#include "study/gnuplot.h"
#include "text.h"

namespace fodp::app {
namespace {

struct AccountOptions {
  std::optional<double> delta, epsilon;
  AccountantKind accountant = AccountantKind::pld;
  Conversion conversion = Conversion::improved;
  std::optional<double> order;
  std::optional<std::string> events, trace, plot;

  static auto fields() {
    using Self = AccountOptions;
    return std::tuple{
        field("delta", &Self::delta, "give epsilon at this delta; by default that of the summary given by --events",
              strictly_between(0, 1)),
        field("epsilon", &Self::epsilon, "instead of --delta: give delta at this epsilon", at_least(0)),
        field("accountant", &Self::accountant,
              "pld: privacy loss distributions, certified on both sides; rdp: Renyi, an upper bound; by default that of the summary, too"),
        field("conversion", &Self::conversion, "rdp, from Renyi to (epsilon, delta): improved, or classic (the paper's eq. 40)"),
        field("order", &Self::order, "also give the Renyi divergence of the whole run at this order", above(1)),
        field("events", &Self::events,
              "a run from a file: a JSON list of {sample_rate, noise_multiplier, beta, steps}, or the summary.json of a training, or its "
              "directory"),
        field("trace", &Self::trace, "write epsilon over the steps to this CSV file"),
        field("plot", &Self::plot, "draw epsilon over the steps, and delta against epsilon, to this SVG file"),
    };
  }
};

constexpr char kExample[] = "fodp account --sample-rate .04 --noise-multiplier 1.1 --beta .9 --steps 6250 --delta 1e-5";

// What a file says of delta and accountant holds where the flags do not say otherwise.
Events events_of(AccountOptions& options, const StepOptions& step, const Flags& flags) {
  if (options.events) {
    for_each_field(step, [&](const auto& field, const auto&) {
      check_input(!flags.given(field.name), "--events and --{}: give one form or the other", field.name);
    });
    RunFile run = read_run_file(*options.events, "events");
    for (const std::string& warning : run.warnings) note("fodp: warning: " + warning + "\n");
    if (!options.delta && !options.epsilon) options.delta = run.delta;
    if (run.accountant && !flags.given("accountant")) options.accountant = *run.accountant;
    return std::move(run.events);
  }
  for_each_field(step, [&](const auto& field, const auto& value) {
    check_input(value.has_value() || field.name == "beta", "--{} is missing; for example: {}", field.name, kExample);
  });
  return {step.event()};
}

// The first `steps` steps of a run.
Events prefix(const Events& events, std::int64_t steps) {
  Events part;
  for (const Composed& composed : events) {
    const std::int64_t count = std::min(steps, composed.count);
    if (count > 0) part.push_back({composed.event, count});
    steps -= count;
  }
  return part;
}

using Curve = std::vector<std::pair<double, double>>;

// Epsilon after each step, or after some of many; `last` is that of the whole run. What holds for a run holds for its beginning, so that
// the curve never falls.
Curve epsilon_curve(const Accountant& accountant, const Events& events, double delta, double last) {
  const std::int64_t steps = total_count(events), lines = std::min<std::int64_t>(steps, steps > 100000 ? 40 : 100);
  Curve curve;
  for (std::int64_t i = 1; i < lines; ++i) {
    const auto step =
        static_cast<std::int64_t>(std::llround(static_cast<double>(steps) / static_cast<double>(lines) * static_cast<double>(i)));
    curve.emplace_back(static_cast<double>(step), accountant.epsilon(prefix(events, step), delta).epsilon);
  }
  curve.emplace_back(static_cast<double>(steps), last);
  for (std::size_t i = curve.size() - 1; i-- > 0;) curve[i].second = std::min(curve[i].second, curve[i + 1].second);
  return curve;
}

Curve delta_curve(const Accountant& accountant, const Events& events, double delta) {
  Curve curve;
  const double lowest = std::min(-12., std::floor(std::log10(delta)) - 1);
  for (double power = -1; power >= lowest; power -= .5) {
    const double at = std::pow(10, power);
    curve.emplace_back(accountant.epsilon(events, at).epsilon, at);
  }
  return curve;
}

// Before a long computation rather than after it.
void check_can_write(const std::string& name, const std::string& file) {
  const std::filesystem::path path(file), folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;
  check_input(std::filesystem::is_directory(folder, ignored) && ::access(folder.c_str(), W_OK | X_OK) == 0,
              "--{} {}: {} is not a directory that can be written", name, file, folder.string());
  check_input(!std::filesystem::is_directory(path, ignored), "--{} {}: is a directory", name, file);
}

void print_warnings(const AccountOptions& options, const Spent& spent) {
  if (options.delta && spent.epsilon > 10)
    note(fmt::format("fodp: warning: epsilon {:.4g} is above 10: a weak guarantee\n", spent.epsilon));
  if (options.accountant == AccountantKind::rdp) return;
  const double upper = options.delta ? spent.epsilon : spent.delta, lower = options.delta ? spent.epsilon_lower : spent.delta_lower;
  if (std::isfinite(upper) && upper - lower > .011 * upper && upper > 1e-6 && !(options.epsilon && upper < 1e-300))
    note(
        fmt::format("fodp: warning: the interval from {:.6g} to {:.6g} is wider than 1%: so little noise, so many or so unlike steps, or "
                    "so small a delta, is beyond "
                    "what doubles carry; both ends hold\n",
                    lower, upper));
}

void write_curves(const AccountOptions& options, const Accountant& accountant, const Events& events, const Spent& spent) {
  if (!options.trace && !options.plot) return;
  const double last = options.delta ? spent.epsilon : accountant.epsilon(events, spent.delta).epsilon;
  const Curve curve = epsilon_curve(accountant, events, spent.delta, last);
  if (options.trace) {
    std::string csv = "step,epsilon\n";
    for (const auto& [step, epsilon] : curve) csv += fmt::format("{:.0f},{}\n", step, std::isinf(epsilon) ? "inf" : number_text(epsilon));
    write_file_atomically(*options.trace, csv, "trace file");
  }
  if (!options.plot) return;
  const auto panel = [](std::string title, std::string x, std::string y, const Curve& points) {
    FigureSeries series{.name = "", .points = {}};
    for (const auto& [at, value] : points)
      if (std::isfinite(at) && std::isfinite(value)) series.points.push_back({.x = {at}, .y = {.n = 1, .mean = value}});
    return FigurePanel{.title = std::move(title), .series = {std::move(series)}, .x_label = std::move(x), .y_label = std::move(y)};
  };
  Figure figure{.title = fmt::format("What the run costs, delta {}", number_text(spent.delta)), .x = {{"x", ""}}};
  figure.panels.push_back(panel("epsilon over the run", "step", "epsilon", curve));
  figure.panels.push_back(panel("delta against epsilon", "epsilon", "delta", delta_curve(accountant, events, spent.delta)));
  figure.panels.back().log_y = true;
  write_svg(figure, *options.plot);
}

void print_for_people(const AccountOptions& options, const Events& events, const Spent& spent, const std::optional<double>& rdp) {
  std::string text;
  const bool tight = options.accountant == AccountantKind::pld;
  text += fmt::format("epsilon {} at delta {}\n", upper_text(spent.epsilon), upper_text(spent.delta));
  if (tight && options.delta) text += fmt::format("  the least that holds is between {:.6g} and that\n", spent.epsilon_lower);
  if (tight && options.epsilon) text += fmt::format("  the least delta that holds is between {:.6g} and that\n", spent.delta_lower);
  text += fmt::format("  {} steps; Poisson sampling: each record is in each lot independently with its rate\n", total_count(events));
  text += fmt::format("  add/remove adjacency: neighbours differ by one record that is there or not; the larger of both directions\n");
  double slack = 0;
  for (const Composed& part : events) slack = std::max(slack, part.event.slack);
  if (slack > 0) text += fmt::format("  finite precision included: it adds up to {:.3f}% to the sensitivity\n", 100 * slack);
  if (tight)
    text += fmt::format("  privacy loss distributions{}, certified on both sides\n",
                        spent.grid > 0 ? fmt::format(" on a grid of {:.3g}", spent.grid) : " in closed form");
  else
    text += fmt::format("  Renyi accounting at order {}, an upper bound\n", upper_text(spent.order));
  if (rdp) text += fmt::format("  Renyi divergence at order {}: {}\n", number_text(*options.order), upper_text(*rdp));
  print_text(text);
}

}  // namespace

int account(const Words& words) {
  AccountOptions options;
  StepOptions step;
  Flags flags("account", std::string("What a private run costs. ") + kAssumptions, kExample);
  flags.add("The run", step);
  flags.add("The question", options);
  if (!flags.parse(words)) return 0;
  check_input(!(options.delta && options.epsilon), "--delta and --epsilon: give one of them");
  const auto check_asks = [&](bool asks) {
    check_input(asks, "--delta is missing (or --epsilon, to be told delta); for example: {}", kExample);
  };
  check_asks(options.delta || options.epsilon || options.events);
  if (options.trace) check_can_write("trace", *options.trace);
  if (options.plot) {
    check_gnuplot();
    check_can_write("plot", *options.plot);
  }
  check_input(!options.trace || options.trace != options.plot, "--trace and --plot: both are {}; give two files",
              options.trace.value_or(""));

  const Events events = events_of(options, step, flags);
  check_asks(options.delta || options.epsilon);
  const auto accountant = make_accountant(options.accountant, options.conversion);
  const Spent spent = options.delta ? accountant->epsilon(events, *options.delta) : accountant->delta(events, *options.epsilon);
  std::optional<double> rdp;
  if (options.order) rdp = RdpAccountant().rdp(events, *options.order);
  write_curves(options, *accountant, events, spent);
  print_warnings(options, spent);
  if (!flags.json()) {
    print_for_people(options, events, spent, rdp);
    return 0;
  }

  nlohmann::ordered_json out;
  out["accountant"] = accountant->name();
  out["epsilon"] = json_number(spent.epsilon);
  if (options.delta) out["epsilon_lower"] = json_number(spent.epsilon_lower);
  out["delta"] = json_number(spent.delta);
  if (options.epsilon) out["delta_lower"] = json_number(spent.delta_lower);
  out["effective_noise_multiplier"] = options.events ? nlohmann::ordered_json() : json_number(events.front().event.noise_multiplier);
  out["steps"] = total_count(events);
  out["adjacency"] = "add/remove";
  if (options.accountant == AccountantKind::pld)
    out["grid"] = json_number(spent.grid);
  else
    out["order"] = json_number(spent.order);
  if (rdp) out["rdp"] = json_number(*rdp);
  print_json(out);
  return 0;
}

}  // namespace fodp::app
