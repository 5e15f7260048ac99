// Calibration: what is left open of a planned run, solved so that the run stays within (epsilon, delta). The result never overshoots: what
// is returned is a value that the accountant was asked about and found within the target.
#pragma once

#include <cstdint>
#include <functional>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"
#include "fodp/accounting/ledger.h"
#include "fodp/base/fields.h"

namespace fodp {

// A run of equal steps before its noise is chosen. The event of a step is SGM(sample_rate, noise_multiplier / beta) with that slack
// (paper Theorem B.2).
struct PlannedRun {
  double sample_rate = 1;
  std::int64_t steps = 1;
  double beta = 1;   // weight of the fresh sum, in (0, 1]
  double slack = 0;  // of the sensitivity, for finite precision

  Events events(double noise_multiplier) const;
};

struct Calibrated {
  double noise_multiplier = 0;  // sigma; the charge is for sigma / beta
  Spent spent;                  // spent.epsilon <= target.epsilon
};

// The events of a run at this noise multiplier; they must cost less the larger it is.
using EventsAt = std::function<Events(double noise_multiplier)>;

// Told after each time the accountant was asked: how often that was, and the noise multiplier and its epsilon.
using CalibrationProgress = std::function<void(int asked, double noise_multiplier, double epsilon)>;

// The smallest noise multiplier, to a relative 1e-6 and from above, with which a run stays within `target`, sought from 1e-6 to 1e6.
// InputError for a value out of range, and for a target that none of these meets: it says which epsilon the largest meets.
//
// A run of many unlike steps, about which an answer takes long, is first calibrated with the Renyi accountant, which takes little time;
// from there the accountant is asked some five or six times.
Calibrated calibrate_noise_multiplier(const EventsAt& events, const Budget& target, const Accountant& accountant,
                                      const CalibrationProgress& progress = {});
Calibrated calibrate_noise_multiplier(const PlannedRun& run, const Budget& target, const Accountant& accountant);

enum class Unknown { noise_multiplier, steps, sample_rate, beta };

template <>
struct EnumNames<Unknown> {
  static constexpr std::pair<std::string_view, Unknown> values[] = {{"noise-multiplier", Unknown::noise_multiplier},
                                                                    {"steps", Unknown::steps},
                                                                    {"sample-rate", Unknown::sample_rate},
                                                                    {"beta", Unknown::beta}};
};

struct CalibratedRun {
  PlannedRun run;
  double noise_multiplier = 0;
  Spent spent;  // spent.epsilon <= target.epsilon
};

// The run with its unknown solved (what it holds there is not read): the least noise, or the most steps (up to 1e9), the largest rate or
// the largest beta (from 1e-9 and 1e-6 to 1), all to a relative 1e-6. InputError for a value out of range, and for a target that cannot be
// met: it says what could be.
CalibratedRun calibrate(const PlannedRun& run, double noise_multiplier, Unknown unknown, const Budget& target,
                        const Accountant& accountant);

}  // namespace fodp
