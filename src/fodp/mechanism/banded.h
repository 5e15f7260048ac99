// BandMF's mechanism (Choquette-Choo et al. 2023, "(Amplified) Banded Matrix Factorization"): noise that cancels over steps.
//
//   S_t = s_t + sigma*C*xi_t,   xi_t = (z_t - sum_{k=1}^{b-1} c_k xi_{t-k}) / c_0,   z_t standard normal
//
// c is (1-x)^(-order), cut after b terms and scaled to norm 1; order 1/2 is the square root of the prefix-sum matrix, order 1 that matrix.
// Each record may take part in one of b consecutive steps only (cyclic sampling); then b steps cost SGM(b*q, sigma) once. b = 1 is DP-SGD
// bit for bit. The order does not enter the cost. How both are chosen where they are left open: band_choice.h.
//
// xi is as secret as the sums: it is kept un-rounded in memory and written nowhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "fodp/base/automatic.h"
#include "fodp/mechanism/band_choice.h"
#include "fodp/mechanism/gaussian.h"

namespace fodp {

struct BandOptions {
  Automatic<std::int64_t> bands;
  Automatic<double> order;

  static auto fields() {
    using Self = BandOptions;
    return std::tuple{field("bands", &Self::bands,
                            "b: over how many steps noise is correlated; records take part every b-th step. auto: from public numbers, and "
                            "1 where more would gain less than a tenth",
                            between(1, 4096), std::string(kAutomatic)),
                      field("order", &Self::order,
                            "how quickly the correlation of the noise falls off: 0.5 is the root of the prefix sum. It costs nothing. "
                            "auto: with the bands",
                            above_up_to(0, 1), std::string(kAutomatic))};
  }

  std::int64_t count() const { return bands.value_or(1); }
};

class BandedMechanism : public GaussianMechanism {
 public:
  BandedMechanism(const NoiseSchedule& schedule, std::int64_t bands, double order = BandChoice::kUsualOrder);
  ~BandedMechanism() override;  // wipes xi

  std::int64_t cycle() const override { return static_cast<std::int64_t>(coefficients_.size()); }
  double end_noise(std::int64_t steps) const override { return band_noise(coefficients_, std::min(steps, kLongest)).end; }
  std::vector<double> independent_noise_weights() const override { return coefficients_; }

  // The noise history is saved for insecure runs only. A private run that goes on without it begins a new correlation; the cycle of groups
  // goes on.
  void state(StateVisitor& visit) override;

 protected:
  void begin(std::int64_t size) override;
  void end(std::span<const float> released, double scale) override;
  std::optional<double> noise_variance(double scale) const override;
  void draw_noise(const RandomStream& stream, std::uint64_t number, std::uint32_t block, double scale, double grid,
                  std::span<std::int64_t> noise) override;

 private:
  std::vector<double>& past(std::int64_t lag);  // xi_{t-lag}

  std::vector<double> coefficients_;
  std::vector<std::vector<double>> ring_;  // b of them; the newest is being written
  std::int64_t released_ = 0;              // since the correlation began
  std::vector<double> response_;           // of xi to one z: its last b values
  double squared_response_ = 0;            // variance of xi_t
};

}  // namespace fodp
