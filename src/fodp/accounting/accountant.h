// Accountants turn a list of events into (epsilon, delta). They see events and nothing else; they round up and return +inf, never NaN.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "fodp/accounting/event.h"
#include "fodp/base/fields.h"

namespace fodp {

enum class AccountantKind { pld, rdp };
enum class Conversion { improved, classic };

template <>
struct EnumNames<AccountantKind> {
  static constexpr std::pair<std::string_view, AccountantKind> values[] = {{"pld", AccountantKind::pld}, {"rdp", AccountantKind::rdp}};
};

template <>
struct EnumNames<Conversion> {
  static constexpr std::pair<std::string_view, Conversion> values[] = {{"improved", Conversion::improved},
                                                                       {"classic", Conversion::classic}};
};

// What an accountant says of a run. `epsilon` and `delta` are upper bounds under add/remove adjacency (one of them was given),
// `epsilon_lower` and `delta_lower` lower bounds (0 where the accountant has none). `order` is the Renyi order that gave it (rdp), `grid`
// the step between privacy losses (pld; 0 for a closed form); 0 where there is none.
struct Spent {
  double epsilon = 0;
  double epsilon_lower = 0;
  double delta = 0;
  double delta_lower = 0;
  double order = 0;
  double grid = 0;
};

// An upper bound on delta is never 0 where epsilon is finite: what is too small for a double is the smallest one.
inline Spent not_zero(Spent spent) {
  if (spent.delta == 0 && std::isfinite(spent.epsilon)) spent.delta = std::numeric_limits<double>::min();
  return spent;
}

class Accountant {
 public:
  virtual ~Accountant() = default;
  virtual std::string name() const = 0;
  // Both refuse, with an InputError, an event that they do not know.
  virtual Spent epsilon(const Events& events, double delta) const = 0;
  // The upper bound alone, for a search that asks often: never below epsilon().epsilon, and that itself where it takes no longer.
  virtual double upper_epsilon(const Events& events, double delta) const { return epsilon(events, delta).epsilon; }
  virtual Spent delta(const Events& events, double epsilon) const;  // InputError where the accountant has no answer
};

// The accountants there are; InputError, with what to use instead, for one that is not.
std::unique_ptr<Accountant> make_accountant(AccountantKind kind, Conversion conversion = Conversion::improved);

}  // namespace fodp
