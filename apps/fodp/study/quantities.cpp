#include "study/quantities.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "fodp/base/check.h"
#include "fodp/base/fields.h"

namespace fodp::app {
namespace {

constexpr std::array<std::string_view, 10> kFinal = {
    "test_accuracy", "best_test_accuracy", "test_loss", "epsilon",      "epsilon_ideal", "seconds",
    "steps",         "noise_multiplier",   "lr",        kEpochsToTarget};
constexpr std::array<std::string_view, 5> kCurve = {"step", "epoch", "epsilon", "test_accuracy", "test_loss"};
// With --insecure-diagnostics.
constexpr std::array<std::string_view, 10> kDiagnostics = {"train_loss",   "clip_fraction", "mean_norm",         "largest_norm",
                                                           "signal_norm",  "memory_norm",   "noise_memory_norm", "noise_norm",
                                                           "memory_depth", "memory_ratio"};

void check_one_of(std::string_view name, std::vector<std::string_view> known, const std::string& where) {
  check_input(std::ranges::count(known, name) > 0, "{}: '{}' is not recorded: {}", where, name, suggestion(name, known));
}

}  // namespace

std::optional<double> final_quantity(const nlohmann::json& record, std::string_view name, std::optional<double> target) {
  if (name == kEpochsToTarget) {
    for (const nlohmann::json& point : record.at("curve"))
      if (point.contains("test_accuracy") && point["test_accuracy"].is_number() && point["test_accuracy"] >= target.value_or(0))
        return point.at("epoch").get<double>();
    return std::nullopt;
  }
  const auto value = record.find(name);
  if (value == record.end() || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::set<std::string> curve_columns(const Study& study) {
  std::set<std::string> columns = {"epoch", "epsilon", "test_accuracy"};
  for (const FigureSpec& figure : study.figures) {
    if (figure.kind != FigureKind::line) continue;
    columns.insert(figure.x.begin(), figure.x.end());
    columns.insert(figure.y.begin(), figure.y.end());
  }
  return columns;
}

std::string quantity_label(std::string_view name) {
  if (name == "epoch") return "epochs";
  if (name == "step") return "steps";
  if (name == "seconds") return "seconds";
  if (name == "epsilon") return "epsilon spent";
  std::string label(name);
  std::ranges::replace(label, '_', ' ');
  return label;
}

void check_final_quantity(std::string_view name, const Study&, const std::string& where) {
  check_one_of(name, {kFinal.begin(), kFinal.end()}, where);
}

void check_curve_quantity(std::string_view name, const Study& study, const std::string& where) {
  std::vector<std::string_view> known(kCurve.begin(), kCurve.end());
  const auto diagnostics = study.base.find("insecure-diagnostics");
  const bool told = diagnostics != study.base.end() && diagnostics->second == "true";
  check_input(told || std::ranges::count(kDiagnostics, name) == 0, "{}: '{}' is recorded only with insecure-diagnostics = true in [base]",
              where, name);
  if (told) known.insert(known.end(), kDiagnostics.begin(), kDiagnostics.end());
  check_one_of(name, known, where);
}

}  // namespace fodp::app
