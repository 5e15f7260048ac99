#include "fodp/training/statement.h"

#include <algorithm>
#include <cmath>

#include <torch/version.h>

#include "fodp/accounting/group_privacy.h"
#include "fodp/base/version.h"
#include "fodp/features/feature_data.h"

namespace fodp {
namespace {

// A name and what is said of it, in lines of at most 100 characters.
std::string line(std::string_view name, std::string_view text) {
  constexpr std::size_t kIndent = 18, kWidth = 100;
  std::string out = fmt::format("  {:<15}", name);
  std::size_t column = kIndent - 1;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    if (column + 1 + (end - start) > kWidth) {
      out.append("\n").append(kIndent - 1, ' ');
      column = kIndent - 1;
    }
    out += " ";
    out += text.substr(start, end - start);
    column += 1 + (end - start);
    start = end + 1;
  }
  return out + "\n";
}

std::string cost_line(std::int64_t count, const Event& event, std::string_view rate, std::string_view noise) {
  return line("Cost", fmt::format("{} x {}, rate {}, noise {} times the sensitivity", count, event.kind->words, rate, noise));
}

// A line an event; a run that varies step by step gets one line for each kind, with its ranges.
std::string cost_lines(const Events& events) {
  constexpr std::size_t kMostLines = 6;
  std::string text;
  if (events.size() <= kMostLines) {
    for (const auto& [event, count] : events)
      text += cost_line(count, event, number_text(event.sample_rate), fmt::format("{:.6g}", event.noise_multiplier));
    return text;
  }
  const auto range = [](double a, double b) { return a == b ? fmt::format("{:.6g}", a) : fmt::format("{:.6g} to {:.6g}", a, b); };
  for (const EventKind* kind : event_kinds()) {
    const Events alike = of_kind(events, *kind);
    if (alike.empty()) continue;
    const auto [least_rate, largest_rate] = std::ranges::minmax(alike, {}, [](const Composed& part) { return part.event.sample_rate; });
    const auto [least, largest] = std::ranges::minmax(alike, {}, [](const Composed& part) { return part.event.noise_multiplier; });
    text += cost_line(total_count(alike), least.event, range(least_rate.event.sample_rate, largest_rate.event.sample_rate),
                      range(least.event.noise_multiplier, largest.event.noise_multiplier));
  }
  return text;
}

constexpr char kWhatStops[] =
    "anything computed from the training data, such as a test result of the model, a loss or a look at its parameters";

// The conditions under which numbers hold, where there are any.
std::string conditions(const StatementFacts& facts) {
  std::string text;
  if (facts.beyond_plan)
    text += line("Beyond plan",
                 fmt::format("more was released than planned; the guarantee holds only if that did not depend on {}", kWhatStops));
  if (facts.epsilon_if_stop_was_fixed)
    text += line("Stopped early", fmt::format("the guarantee is that of the whole plan, whatever led to the stop; epsilon {}, of the steps "
                                              "taken, holds only if the number of steps did not depend on {}",
                                              upper_text(*facts.epsilon_if_stop_was_fixed), kWhatStops));
  return text;
}

std::string delta_line(const Plan& plan) {
  if (!plan.derives("delta")) return "";
  return line("Delta", fmt::format("{}, the largest power of ten at most 1/(10 x {})", number_text(plan.delta()), plan.train_examples()));
}

// What the run started from, and what earlier runs have spent.
std::string earlier_lines(const Plan& plan) {
  const EarlierRuns& earlier = plan.earlier();
  std::string text;
  if (const auto& start = earlier.started_from) {
    const char* cost = start->cost == StartCost::spent     ? "; what its parameters cost is part of the guarantee"
                       : start->cost == StartCost::unknown ? "; what its parameters cost is not known, and no part of the guarantee"
                                                           : ", which the user declared public: nothing is counted for it";
    text += line("Started from", start->file + cost);
  }
  if (!earlier.events.empty())
    text += line("Spent before", fmt::format("epsilon {} on the same rows, by earlier runs ({}); the guarantee is for all together",
                                             upper_text(plan.spent_before().epsilon), earlier.names));
  return text;
}

// "2 rows has epsilon at most 6.6, with 5 rows at most 20"
std::string rows_of_a_person(const std::vector<std::pair<std::int64_t, double>>& groups) {
  std::string text;
  for (const auto& [rows, epsilon] : groups)
    text += fmt::format("{}{} rows {}{}", text.empty() ? "" : ", with ", rows, text.empty() ? "has epsilon " : "",
                        std::isfinite(epsilon) ? "at most " + upper_text(epsilon) : "without a bound");
  return text;
}

// Whom the guarantee is for.
std::string unit_lines(const Plan& plan, const StatementFacts& facts) {
  if (plan.unit_is_row())
    return line("Privacy unit",
                fmt::format("one row of {} ({} training examples); a person with {}, at the same delta", plan.options().data_name,
                            plan.train_examples(), rows_of_a_person(group_epsilons(plan, facts.events)))) +
           line("Adjacency", "add or remove one row");
  return line("Privacy unit",
              fmt::format("everybody whom the column {} of {} names, with all of their rows, however many ({} units to train on)",
                          plan.unit(), plan.options().data_name, plan.train_examples())) +
         line("Adjacency", fmt::format("add or remove one {}, with all of its rows", plan.unit()));
}

std::string test_line(const Plan& plan) {
  if (!plan.tests_are_private()) return "";
  const PrivateTests& tests = plan.tests();
  return line("Test rows",
              fmt::format("private, too: what is told of them has noise, which is part of the cost ({} x a sum with noise {:.6g} times "
                          "what one {} can change)",
                          tests.releases, tests.noise, plan.unit()));
}

std::string feature_line(const Plan& plan) {
  const std::string text = feature_statement(plan.options().data);
  return text.empty() ? "" : line("Inputs", text);
}

std::string identity_lines(const StatementFacts& facts) {
  std::string text;
  if (!facts.date.empty()) text += line("Date", facts.date);
  if (!facts.model_sha256.empty()) text += line("Model file", "SHA-256 " + facts.model_sha256);
  std::string made_by;
  for (const auto& [name, version] : versions()) made_by += (made_by.empty() ? "" : ", ") + name + " " + version;
  return text + line("Made by", made_by);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> versions() {
  return {{"fodp", kVersion}, {"commit", kCommit}, {"libtorch", TORCH_VERSION}};
}

StatementFacts facts_of(const Plan& plan, const Guarantee& guarantee) {
  StatementFacts facts{.events = guarantee.events,
                       .epsilon = guarantee.spent.epsilon,
                       .epsilon_ideal = guarantee.spent_ideal.epsilon,
                       .beyond_plan = guarantee.beyond(plan)};
  if (!guarantee.all_charged()) facts.epsilon_if_stop_was_fixed = guarantee.epsilon_if_stop_was_fixed;
  return facts;
}

std::vector<std::pair<std::int64_t, double>> group_epsilons(const Plan& plan, const Events& guaranteed) {
  // Under cyclic sampling a person's rows may be in several groups, whose noise is correlated: only the chain of neighbours holds. Earlier
  // runs may have been of that kind.
  const auto bound = plan.cycle() > 1 || !plan.earlier().events.empty() ? chained_group_epsilon : group_epsilon;
  std::vector<std::pair<std::int64_t, double>> found;
  for (std::int64_t rows : {2, 5}) found.emplace_back(rows, bound(guaranteed, plan.delta(), rows));
  return found;
}

std::string privacy_statement(const Plan& plan) {
  return privacy_statement(plan, {.events = plan.events(), .epsilon = plan.spent().epsilon, .epsilon_ideal = plan.spent_ideal().epsilon});
}

std::string privacy_statement(const Plan& plan, const StatementFacts& facts) {
  std::string text = "Privacy statement\n";
  if (!plan.is_private()) {
    text += "  THIS RUN IS NOT PRIVATE:\n";
    for (const std::string& reason : plan.insecure()) text += "    " + reason + "\n";
    text += "  What follows would hold without that.\n";
  }
  text += line("Guarantee", fmt::format("({}, {})-differential privacy", upper_text(facts.epsilon), number_text(plan.delta())));
  text += conditions(facts);
  text += delta_line(plan);
  for (const std::string& warning : plan.privacy_warnings()) text += line("Warning", warning);
  for (const std::string& warning : facts.warnings) text += line("Warning", warning);
  text += line("What it covers", "the trained parameters, every release during training, and all that is computed from them");
  text += unit_lines(plan, facts);
  text += feature_line(plan);
  text += test_line(plan);
  text += earlier_lines(plan);
  text += cost_lines(facts.events);
  text +=
      line("Accountant", fmt::format("{}, an upper bound; {} in exact arithmetic, finite precision adds {:.3f}% to the sensitivity",
                                     enum_name(plan.options().privacy.accountant), upper_text(facts.epsilon_ideal), 100 * plan.slack()));
  text += identity_lines(facts);
  if (plan.cycle() > 1)
    text += line("Same rows", fmt::format("noise is correlated over {} steps, in one of which a row can take part: which one follows from "
                                          "the row alone. The guarantee needs that a row number stands for the same record during the "
                                          "whole run",
                                          plan.cycle()));
  text += line(
      "Assumes",
      std::string(plan.sizes().test > 0 && !plan.tests_are_private() ? "the test set is public; " : "") +
          "options and data were not chosen by looking at the training rows; one run (a search over options on "
          "the same rows costs once for each run); the seed of the noise stays secret (it is never stored); a BLAS that computes a row "
          "of a product from that row alone; no timing side channel. See docs/finite-precision.md");
  return text;
}

}  // namespace fodp
