// A public number of a run that may vary by step. It is fixed before the run starts and never depends on the data. As text it is one of
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

#include "fodp/base/fields.h"

namespace fodp {

class Schedule {
 public:
  Schedule(double value) : values_{value} {}  // not explicit, since a number is a schedule
  static Schedule linear(double first, double last);
  static Schedule list(std::vector<double> entries);  // InputError for an empty list

  // The value at `step`, counted from 0, of `steps`. On a line it is first + (last-first)*step/(steps-1), or the first value if there is
  // only one step. In a list of n entries it is entry floor(step*n/steps). It is never outside [least(), largest()]. InputError for a step
  // that the run does not have.
  double at(std::int64_t step, std::int64_t steps) const;

  // Throws an InputError that names `where` if a list has more entries than the run has steps.
  void check_steps(std::string_view where, std::int64_t steps) const;

  bool constant() const { return form_ == Form::constant; }
  double first() const { return values_.front(); }
  double least() const;
  double largest() const;
  const std::vector<double>& values() const { return values_; }  // the numbers it is made of

  Schedule times(double factor) const;  // a schedule with every value multiplied

  std::string text() const;

  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  enum class Form { constant, linear, list };
  Schedule(Form form, std::vector<double> values);

  Form form_ = Form::constant;
  std::vector<double> values_;  // the constant, the two ends of a line, or the entries of a list
};

template <>
struct FieldText<Schedule> {
  // InputError if a number of the schedule is outside the range.
  static Schedule parse(std::string_view text, std::string_view where, const Range& range);
  static std::string print(const Schedule& value) { return value.text(); }
  static FieldValue value(const Schedule& value);  // a number if constant, else the text
};

}  // namespace fodp
