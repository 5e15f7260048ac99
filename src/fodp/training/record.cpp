#include "fodp/training/record.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/base/version.h"
#include "fodp/training/threads.h"

namespace fodp {
namespace {

constexpr const char* kRunFiles[] = {"config.json", "metrics.jsonl", "summary.json", "model.pt"};

// Sampled events first, whatever came first in the run.
nlohmann::ordered_json events_json(Events events) {
  std::ranges::stable_sort(events, {}, [](const Composed& part) { return part.event.kind == Event::Kind::gaussian; });
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [event, count] : events)
    list.push_back({{"kind", event.kind_name()},
                    {"sample_rate", event.sample_rate},
                    {"effective_noise_multiplier", json_number(event.noise_multiplier)},
                    {"count", count}});
  return list;
}

std::string cost_line(std::int64_t count, const Event& event, std::string_view rate, std::string_view noise) {
  return fmt::format("  Cost            {} x {}Gaussian, rate {}, noise {} times the sensitivity\n", count,
                     event.kind == Event::Kind::gaussian ? "" : "Poisson-sampled ", rate, noise);
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
  for (const Event::Kind kind : {Event::Kind::poisson_gaussian, Event::Kind::gaussian}) {
    Events alike;
    std::ranges::copy_if(events, std::back_inserter(alike), [&](const Composed& part) { return part.event.kind == kind; });
    if (alike.empty()) continue;
    const auto [least_rate, largest_rate] = std::ranges::minmax(alike, {}, [](const Composed& part) { return part.event.sample_rate; });
    const auto [least, largest] = std::ranges::minmax(alike, {}, [](const Composed& part) { return part.event.noise_multiplier; });
    text += cost_line(total_count(alike), least.event, range(least_rate.event.sample_rate, largest_rate.event.sample_rate),
                      range(least.event.noise_multiplier, largest.event.noise_multiplier));
  }
  return text;
}

}  // namespace

nlohmann::ordered_json summary_json(const Plan& plan, const Result* result) {
  const Spent& spent = result ? result->spent : plan.spent;
  nlohmann::ordered_json out;
  out["method"] = plan.method->name;
  out["release"] = enum_name(plan.stages.release);
  out["filter"] = enum_name(plan.stages.filter);
  out["update"] = enum_name(plan.stages.update);
  out["clipping"] = enum_name(plan.stages.clipping);
  out["averaging"] = enum_name(plan.stages.averaging);
  out["data"] = plan.options.data.data;
  out["train_examples"] = plan.train_examples;
  out["test_examples"] = plan.test_examples;
  out["model"] = enum_name(plan.options.model.model);
  out["parameters"] = plan.parameters;
  out["steps"] = result ? result->steps : plan.steps;
  out["planned_steps"] = plan.steps;
  out["sample_rate"] = FieldText<Schedule>::json(plan.sample_rate);
  out["expected_lot"] = FieldText<Schedule>::json(plan.expected_lot());
  out["clip_norm"] = plan.options.clip.clip_norm;
  if (result && plan.stages.clipping == Clipping::adaptive) out["final_clip_norm"] = result->clip_norm;
  out["noise_multiplier"] = FieldText<Schedule>::json(plan.noise_multiplier);
  out["event"] = events_json(result ? result->events : plan.events);
  out["epsilon"] = json_number(spent.epsilon);
  out["epsilon_ideal"] = json_number(result ? result->spent_ideal.epsilon : plan.spent_ideal.epsilon);
  out["delta"] = plan.options.privacy.delta;
  out["accountant"] = enum_name(plan.options.privacy.accountant);
  out["adjacency"] = "add/remove";
  out["sensitivity_slack"] = plan.slack;
  if (result) {
    const Evaluation& last = result->evaluations.back();
    out["test_accuracy"] = last.test_accuracy;
    out["best_test_accuracy"] = result->best_test_accuracy;
    out["test_loss"] = json_number(last.test_loss);
    out["seconds"] = result->seconds;
  }
  out["private"] = plan.is_private();
  out["insecure"] = plan.insecure;
  out["version"] = kVersion;
  return out;
}

nlohmann::ordered_json evaluation_json(const Evaluation& evaluation) {
  nlohmann::ordered_json out = {{"step", evaluation.step},
                                {"epoch", evaluation.epoch},
                                {"epsilon", json_number(evaluation.epsilon)},
                                {"test_accuracy", evaluation.test_accuracy},
                                {"test_loss", json_number(evaluation.test_loss)},
                                {"seconds", evaluation.seconds}};
  if (const auto& view = evaluation.insecure)
    out["insecure_diagnostics"] = {{"train_loss", json_number(view->train_loss)},
                                   {"clip_fraction", view->clip_fraction},
                                   {"mean_norm", json_number(view->mean_norm)},
                                   {"largest_norm", json_number(view->largest_norm)},
                                   {"signal_norm", json_number(view->signal_norm)},
                                   {"memory_norm", json_number(view->memory_norm)},
                                   {"noise_memory_norm", json_number(view->noise_memory_norm)},
                                   {"noise_norm", json_number(view->noise_norm)}};
  return out;
}

std::string privacy_statement(const Plan& plan, const Result* result) {
  return result ? privacy_statement(plan, result->events, result->spent.epsilon, result->spent_ideal.epsilon)
                : privacy_statement(plan, plan.events, plan.spent.epsilon, plan.spent_ideal.epsilon);
}

std::string privacy_statement(const Plan& plan, const Events& events, double epsilon, double ideal_epsilon) {
  std::string text = "Privacy statement\n";
  if (!plan.is_private()) {
    text += "  THIS RUN IS NOT PRIVATE:\n";
    for (const std::string& reason : plan.insecure) text += "    " + reason + "\n";
    text += "  What follows would hold without that.\n";
  }
  text += fmt::format("  Guarantee       ({}, {})-differential privacy\n", upper_text(epsilon), number_text(plan.options.privacy.delta));
  text += fmt::format("  What it covers  the trained parameters, every release during training, and all that is computed from them\n");
  text += fmt::format("  Privacy unit    one row of {} ({} training examples); a person with k rows has k times the exposure\n",
                      plan.options.data.data, plan.train_examples);
  text += "  Adjacency       add or remove one row\n";
  text += cost_lines(events);
  text += fmt::format("  Accountant      {}, an upper bound; {} in exact arithmetic, finite precision adds {:.3f}% to the sensitivity\n",
                      enum_name(plan.options.privacy.accountant), upper_text(ideal_epsilon), 100 * plan.slack);
  text +=
      "  Assumes         the test set is public; options and data were not chosen by looking at the training rows; one run (a search over\n"
      "                  options on the same rows costs once for each run); the seed of the noise stays secret (it is never stored); a\n"
      "                  BLAS that computes a row of a product from that row alone; no timing side channel. See docs/finite-precision.md\n";
  return text;
}

void check_can_make_run(const std::filesystem::path& directory) {
  std::error_code ignored;
  check_input(!directory.empty(), "--out: give the name of a directory");
  check_input(!std::filesystem::exists(directory, ignored) || std::filesystem::is_directory(directory, ignored),
              "--out {}: there is a file of that name; give a directory", directory.string());
  for (const char* name : kRunFiles)
    check_input(!std::filesystem::exists(directory / name, ignored),
                "--out {}: holds a run already, finished or not ({}); give another directory", directory.string(), name);
  // The nearest parent that exists must take a new directory.
  std::filesystem::path parent = std::filesystem::absolute(directory).lexically_normal();
  while (!std::filesystem::exists(parent, ignored) && parent.has_relative_path()) parent = parent.parent_path();
  check_input(::access(parent.c_str(), W_OK | X_OK) == 0 && std::filesystem::is_directory(parent, ignored),
              "--out {}: cannot be made: {} is not a directory that can be written", directory.string(), parent.string());
}

void check_can_write(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  check_input(std::filesystem::is_directory(folder, ignored) && ::access(folder.c_str(), W_OK | X_OK) == 0,
              "--save {}: {} is not a directory that can be written", file.string(), folder.string());
  check_input(!std::filesystem::is_directory(file, ignored), "--save {}: is a directory", file.string());
  const std::string extension = file.extension().string();
  check_input(extension == ".pt" || extension == ".pth" || extension == ".safetensors",
              "--save {}: the ending '{}' is not known; use .pt or .safetensors", file.string(), extension);
}

RunDirectory::RunDirectory(const std::filesystem::path& directory, const Plan& plan)
    : directory_(directory), insecure_(plan.insecure), averaging_(plan.stages.averaging) {
  check_can_make_run(directory);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  check_input(!error, "--out {}: cannot be made: {}", directory.string(), error.message());
  write_file_atomically(directory / "config.json", to_json(plan.options).dump(2) + "\n", "run file");
  metrics_.open(directory / "metrics.jsonl");
  check_input(metrics_.good(), "--out {}: metrics.jsonl cannot be written", directory.string());
}

void RunDirectory::add(const Evaluation& evaluation) {
  nlohmann::ordered_json line = evaluation_json(evaluation);
  if (!insecure_.empty()) line["insecure"] = insecure_;
  if (averaging_ != Averaging::none) line["averaging"] = enum_name(averaging_);
  metrics_ << line.dump() + "\n" << std::flush;
  check_fault(metrics_.good(), "{}: writing failed", (directory_ / "metrics.jsonl").string());
}

void RunDirectory::finish(const Plan& plan, const Result& result, const StateDict& parameters) {
  save_state_dict(parameters, directory_ / "model.pt");
  write_file_atomically(directory_ / "summary.json", summary_json(plan, &result).dump(2) + "\n", "run file");
}

}  // namespace fodp
