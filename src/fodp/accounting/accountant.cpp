#include "fodp/accounting/accountant.h"

#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {

std::unique_ptr<Accountant> make_accountant(AccountantKind kind, Conversion conversion) {
  check_input(kind != AccountantKind::pld,
              "accountant pld: the tight accountant is not in this version; `--accountant rdp` gives a valid upper bound");
  check_input(kind == AccountantKind::rdp, "accountant {}: known are pld and rdp", static_cast<int>(kind));
  return std::make_unique<RdpAccountant>(conversion);
}

}  // namespace fodp
