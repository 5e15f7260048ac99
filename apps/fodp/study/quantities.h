// What can be drawn and tabulated: the numbers of a record.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "study/study.h"

namespace fodp::app {

inline constexpr std::string_view kEpochsToTarget = "epochs_to_target";

// A number of a finished run: a field of its summary, or the first epoch at which the test accuracy reached `target`. Nothing where the
// run has no such number; infinite values count as none.
std::optional<double> final_quantity(const nlohmann::json& record, std::string_view name, std::optional<double> target = {});

// The columns of the curves that this study's tables and figures are made of, and those that any study's are.
std::set<std::string> curve_columns(const Study& study);

// What axes of figures are called: "test accuracy" for test_accuracy.
std::string quantity_label(std::string_view name);

// InputError, which begins with `where`, if runs of this study record no such number: at their end, or at every evaluation.
void check_final_quantity(std::string_view name, const Study& study, const std::string& where);
void check_curve_quantity(std::string_view name, const Study& study, const std::string& where);

}  // namespace fodp::app
