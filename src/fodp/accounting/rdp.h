// The Renyi accountant: the Renyi divergence of each event at an order, summed over the run, turned into (epsilon, delta) at the order
// that gives the least. Every number is an upper bound under add/remove adjacency; none is negative or NaN.
//
// Poisson-subsampled Gaussian: Mironov, Talwar and Zhang 2019, "Renyi differential privacy of the sampled Gaussian mechanism", who show
// that mixture against Gaussian is the worse of the two directions. Conversion: `classic` is Mironov 2017 (paper eq. 40), `improved` is
// Canonne, Kamath and Steinke 2020, Proposition 12 (also Balle et al. 2020).
#pragma once

#include <string>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"

namespace fodp {

// Renyi divergence of one Poisson-subsampled Gaussian, for any real order > 1, rounded up: within a relative 2e-12 for a noise multiplier
// of at least .05 and an order up to 1e8 times it, an upper bound beyond. The rate is in (0, 1]; a noise multiplier of 0 costs +inf.
// InputError for a value out of range.
double sampled_gaussian_rdp(double sample_rate, double noise_multiplier, double order);

class RdpAccountant : public Accountant {
 public:
  explicit RdpAccountant(Conversion conversion = Conversion::improved) : conversion_(conversion) {}

  std::string name() const override { return "rdp"; }

  // The least epsilon over all orders; `order` is the one that gave it. delta in [0, 1].
  Spent epsilon(const Events& events, double delta) const override;

  // The least delta for which the events are (epsilon, delta)-private. epsilon >= 0, +inf allowed.
  Spent delta(const Events& events, double epsilon) const override;

  // Renyi divergence of all events together at one order.
  double rdp(const Events& events, double order) const;

 private:
  Conversion conversion_;
};

}  // namespace fodp
