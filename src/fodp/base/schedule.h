// A public number of a run that may vary by step, fixed before the run starts: it never depends on the data. As text
//   .9         the same at every step
//   .9:.6      linear in the step, from the first step to the last
//   .9,.8,.7   a list; each entry holds for an equal part of the run, up to one entry per step
//
// A line between equal ends and a list of equal entries are constants: they compare, print and act as one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "fodp/base/fields.h"

namespace fodp {

class Schedule {
 public:
  Schedule(double value) : values_{value} {}  // implicit: a number is a schedule
  static Schedule linear(double first, double last);
  static Schedule list(std::vector<double> entries);  // InputError for none

  // The value at `step` (from 0) of `steps`: first + (last-first)*step/(steps-1) on a line, first if there is but one step; entry
  // floor(step*n/steps) of a list of n. Never outside [least(), largest()]. InputError for a step that the run does not have.
  double at(std::int64_t step, std::int64_t steps) const;

  // InputError, naming `where`, if a list has more entries than the run has steps.
  void check_steps(std::string_view where, std::int64_t steps) const;

  bool constant() const { return form_ == Form::constant; }
  double first() const { return values_.front(); }
  double least() const;
  double largest() const;
  const std::vector<double>& values() const { return values_; }  // the numbers it is made of

  Schedule times(double factor) const;  // every value

  std::string text() const;

  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  enum class Form { constant, linear, list };
  Schedule(Form form, std::vector<double> values);

  Form form_ = Form::constant;
  std::vector<double> values_;  // the constant; the two ends; the entries
};

template <>
struct FieldText<Schedule> {
  // Every number must lie in the range.
  static Schedule parse(std::string_view text, std::string_view where, const Range& range);
  static std::string print(const Schedule& value) { return value.text(); }
  static nlohmann::ordered_json json(const Schedule& value);  // a number if constant, else the text
};

}  // namespace fodp
