// The errors of the library and the functions that throw them. There are three kinds of error, each with its own type, so that the command
// line can give each its exit status:
//   InputError    a value, file or option that is not allowed: names what, where, what was given and what is allowed
//   PrivacyError  something that would break, or has already used up, a privacy guarantee
//   FaultError    the machine or another library failed: no memory, no disk, an error of OpenSSL
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/core.h>

namespace fodp {

class InputError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

class PrivacyError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

class FaultError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// For example: check_input(q > 0, "sample rate is {}: must be above 0", q)
template <class... Args>
void check_input(bool holds, fmt::format_string<Args...> message, Args&&... args) {
  if (!holds) throw InputError(fmt::format(message, std::forward<Args>(args)...));
}

template <class... Args>
void check_privacy(bool holds, fmt::format_string<Args...> message, Args&&... args) {
  if (!holds) throw PrivacyError(fmt::format(message, std::forward<Args>(args)...));
}

template <class... Args>
void check_fault(bool holds, fmt::format_string<Args...> message, Args&&... args) {
  if (!holds) throw FaultError(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace fodp
