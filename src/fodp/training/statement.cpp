#include "fodp/training/statement.h"

#include <algorithm>

#include <torch/version.h>

#include "fodp/base/version.h"

namespace fodp {
namespace {

// A name and what is said of it, in lines of at most 100 characters.
std::string line(std::string_view name, std::string_view text) {
  constexpr std::size_t kIndent = 18, kWidth = 100;
  std::string out = fmt::format("  {:<15}", name);
  std::size_t column = kIndent - 1;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    if (column + 1 + (end - start) > kWidth) out += "\n" + std::string(kIndent - 1, ' '), column = kIndent - 1;
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

std::string identity_lines(const StatementFacts& facts) {
  std::string text;
  if (!facts.date.empty()) text += line("Date", facts.date);
  if (!facts.data_fingerprint.empty()) text += line("Training data", "SHA-256 " + facts.data_fingerprint);
  if (!facts.model_sha256.empty()) text += line("Model file", "SHA-256 " + facts.model_sha256);
  std::string made_by;
  for (const auto& [name, version] : versions()) made_by += (made_by.empty() ? "" : ", ") + name + " " + version;
  return text + line("Made by", made_by);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> versions() {
  return {{"fodp", kVersion}, {"commit", kCommit}, {"libtorch", TORCH_VERSION}};
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
  text +=
      line("Guarantee", fmt::format("({}, {})-differential privacy", upper_text(facts.epsilon), number_text(plan.options().privacy.delta)));
  text += line("What it covers", "the trained parameters, every release during training, and all that is computed from them");
  text += line("Privacy unit", fmt::format("one row of {} ({} training examples); a person with k rows has k times the exposure",
                                           plan.options().data_name, plan.train_examples()));
  text += line("Adjacency", "add or remove one row");
  text += cost_lines(facts.events);
  text +=
      line("Accountant", fmt::format("{}, an upper bound; {} in exact arithmetic, finite precision adds {:.3f}% to the sensitivity",
                                     enum_name(plan.options().privacy.accountant), upper_text(facts.epsilon_ideal), 100 * plan.slack()));
  text += identity_lines(facts);
  text +=
      line("Assumes",
           "the test set is public; options and data were not chosen by looking at the training rows; one run (a search over options on "
           "the same rows costs once for each run); the seed of the noise stays secret (it is never stored); a BLAS that computes a row "
           "of a product from that row alone; no timing side channel. See docs/finite-precision.md");
  return text;
}

}  // namespace fodp
