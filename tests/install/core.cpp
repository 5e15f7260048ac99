#include <fodp/accounting/rdp.h>

int main() {
  const fodp::Events run = {{fodp::Event::poisson_gaussian(.04, 1.1), 6250}};
  const double epsilon = fodp::RdpAccountant().epsilon(run, 1e-5).epsilon;
  return epsilon > 22.6 && epsilon < 22.7 ? 0 : 1;
}
