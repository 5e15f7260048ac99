// Two events and an accountant whose budgets can be counted by hand, for the tests of the ledger.
#pragma once

#include <string>

#include "fodp/accounting/ledger.h"
#include "fodp/base/check.h"

namespace fodp {

inline const Event kStep = Event::poisson_gaussian(.04, 1.1);
inline const Event kOther = Event::poisson_gaussian(.04, 2.2);

// Epsilon is the number of events: budgets can be counted by hand. Counts how often it is asked.
class CountingAccountant : public Accountant {
 public:
  std::string name() const override { return "counting"; }
  Spent epsilon(const Events& events, double delta) const override {
    ++asked;
    return {.epsilon = static_cast<double>(total_count(events)), .delta = delta};
  }
  mutable int asked = 0;
};

inline int charges_until_refusal(Ledger& ledger, const Event& event, int most) {
  for (int i = 0; i < most; ++i) {
    try {
      ledger.charge(event);
    } catch (const PrivacyError&) {
      return i;
    }
  }
  return most;
}

}  // namespace fodp
