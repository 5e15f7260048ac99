#include "fodp/accounting/accountant.h"

#include "fodp/accounting/pld.h"
#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {

Spent Accountant::delta(const Events&, double) const {
  throw InputError(fmt::format("accountant {}: does not give delta at an epsilon", name()));
}

std::unique_ptr<Accountant> make_accountant(AccountantKind kind, Conversion conversion) {
  if (kind == AccountantKind::pld) return std::make_unique<PldAccountant>();
  check_input(kind == AccountantKind::rdp, "accountant {}: known are pld and rdp", static_cast<int>(kind));
  return std::make_unique<RdpAccountant>(conversion);
}

}  // namespace fodp
