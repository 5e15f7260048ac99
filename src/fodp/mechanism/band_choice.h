// How many bands BandMF takes and the order of their coefficients (mechanism/banded.h), chosen from public numbers only.
//
// With p the prefix sums of 1/c, the noise in the parameters after step t has variance (sigma*C*lr/L)^2 * sum_{s<=t} p_s^2. The choice
// makes the mean of that over the steps least at equal (epsilon, delta), where b bands need the noise multiplier sigma(b) for which
// SGM(b*q, sigma) once in b steps meets the budget. One step alone may have at most kMostStepNoise times the noise of DP-SGD's: beyond, the
// noise no longer cancels in a training whose steps depend on each other. A gain below a tenth is not worth the correlation: then one band
// is taken, which is DP-SGD.
//
// Bands are powers of two, up to kMostBands and the memory that the noise of so many steps takes; orders are multiples of .05. The noise
// multipliers that are compared are the Renyi accountant's: a thousandth of a second each, and their ratios are within 3% of the tight
// ones. A run that is much longer than kLongest steps is judged by its first kLongest, when all ratios have settled. The same numbers
// always give the same choice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fodp/accounting/ledger.h"

namespace fodp {

// c_0..c_{b-1}: c_k = Gamma(k+order)/(Gamma(order)*k!), the coefficients of (1-x)^(-order), scaled to norm 1. The order is in (0, 1].
std::vector<double> band_coefficients(std::int64_t bands, double order = .5);

// The noise of a run of so many steps over DP-SGD's at the same noise multiplier, as ratios of standard deviations.
struct BandNoise {
  double path = 1;  // root of the mean over t of the variance of the first t releases' sum
  double end = 1;   // the sum of all releases
  double step = 1;  // the noisiest single release
};
BandNoise band_noise(const std::vector<double>& coefficients, std::int64_t steps);

struct BandQuestion {
  double sample_rate = 1;
  std::int64_t steps = 1, parameters = 1;
  Budget budget;
  std::optional<std::int64_t> bands = {};  // given, not to be chosen
  std::optional<double> order = {};        // likewise
};

struct BandChoice {
  static constexpr double kUsualOrder = .5;

  std::int64_t bands = 1;
  double order = kUsualOrder;
  double path = 1;  // over DP-SGD's within the same budget
};
inline constexpr double kMostStepNoise = 6, kLeastGain = .1;
inline constexpr std::int64_t kMostBands = 64, kLongest = 16384;

BandChoice choose_bands(const BandQuestion& question);

}  // namespace fodp
