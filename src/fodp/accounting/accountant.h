// Accountants turn a list of events into (epsilon, delta). They see events and nothing else; they round up and return +inf, never NaN.
#pragma once

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

// What an accountant says of a run. `epsilon` is an upper bound under add/remove adjacency, `epsilon_lower` a lower bound (0 where the
// accountant has none). `order` is the Renyi order that gave it (rdp), 0 where there is none.
struct Spent {
  double epsilon = 0;
  double epsilon_lower = 0;
  double delta = 0;
  double order = 0;
};

class Accountant {
 public:
  virtual ~Accountant() = default;
  virtual std::string name() const = 0;
  virtual Spent epsilon(const Events& events, double delta) const = 0;
};

// The accountants there are; InputError, with what to use instead, for one that is not.
std::unique_ptr<Accountant> make_accountant(AccountantKind kind, Conversion conversion = Conversion::improved);

}  // namespace fodp
