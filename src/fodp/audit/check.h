// What an audit looked at and found.
#pragma once

#include <optional>
#include <string>

namespace fodp {

struct AuditCheck {
  std::string name;           // such as "noise.scale"
  std::optional<bool> holds;  // nothing where it could not be checked
  std::string what;           // what was found, in numbers
};

// A statistical check of an audit raises a false alarm with at most this probability. There are about a dozen of them.
inline constexpr double kFalseAlarm = 1e-8;

// How likely a standard normal is at least so far from 0.
double two_sided_chance(double standard);

}  // namespace fodp
