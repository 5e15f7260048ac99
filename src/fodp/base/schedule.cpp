#include "fodp/base/schedule.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"

namespace fodp {

Schedule::Schedule(Form form, std::vector<double> values) : form_(form), values_(std::move(values)) {
  if (std::all_of(values_.begin(), values_.end(), [&](double value) { return value == values_.front(); })) {
    form_ = Form::constant;
    values_.resize(1);
  }
}

Schedule Schedule::linear(double first, double last) { return Schedule(Form::linear, {first, last}); }

Schedule Schedule::list(std::vector<double> entries) {
  check_input(!entries.empty(), "list of a schedule is empty: must have at least one entry");
  return Schedule(Form::list, std::move(entries));
}

double Schedule::at(std::int64_t step, std::int64_t steps) const {
  check_input(step >= 0 && step < steps, "step of a schedule is {}: must be in [0, {})", step, steps);
  switch (form_) {
    case Form::constant:
      break;
    case Form::linear:
      // std::lerp gives both ends exactly and never leaves the interval between them.
      return steps == 1 ? first() : std::lerp(values_[0], values_[1], static_cast<double>(step) / static_cast<double>(steps - 1));
    case Form::list:
      return values_[static_cast<std::size_t>(step) * values_.size() / static_cast<std::size_t>(steps)];
  }
  return first();
}

void Schedule::check_steps(std::string_view where, std::int64_t steps) const {
  check_input(form_ != Form::list || static_cast<std::int64_t>(values_.size()) <= steps,
              "{}: has {} entries for {} steps; must have at most one per step", where, values_.size(), steps);
}

double Schedule::least() const { return *std::min_element(values_.begin(), values_.end()); }
double Schedule::largest() const { return *std::max_element(values_.begin(), values_.end()); }

Schedule Schedule::times(double factor) const {
  Schedule scaled = *this;
  for (double& value : scaled.values_) value *= factor;
  return scaled;
}

std::string Schedule::text() const {
  std::string text = number_text(values_[0]);
  for (std::size_t i = 1; i < values_.size(); ++i) text += (form_ == Form::linear ? ':' : ',') + number_text(values_[i]);
  return text;
}

Schedule FieldText<Schedule>::parse(std::string_view text, std::string_view where, const Range& range) {
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    const double first = parse_number(text.substr(0, colon), fmt::format("{}, first value", where), range);
    return Schedule::linear(first, parse_number(text.substr(colon + 1), fmt::format("{}, last value", where), range));
  }
  if (text.find(',') == std::string_view::npos) return parse_number(text, where, range);
  std::vector<double> entries;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    entries.push_back(parse_number(text.substr(0, comma), fmt::format("{}, entry {}", where, entries.size() + 1), range));
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  return Schedule::list(std::move(entries));
}

FieldValue FieldText<Schedule>::value(const Schedule& value) {
  if (value.constant()) return value.first();
  return value.text();
}

}  // namespace fodp
