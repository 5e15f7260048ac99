// Which sample rate and how many steps a run takes that leaves them open, from public numbers only, and how much noise that wastes.
//
// A run of T steps at rate q whose budget is worth mu (the parameter of Gaussian differential privacy) has excess noise
//
//   F = sigma*mu/(q*sqrt(T)):
//
// with lr*T held fixed, the noise that all steps together leave in the parameters is F times the least that any mechanism could leave
// within the budget. Full batches have F = 1. At a given number of epochs q*T, larger lots and fewer steps have less of it; and at a given
// number of steps, more epochs have less of it.
//
// So the choice is the largest rate that the epochs allow with kPlannedSteps steps: fewer steps would need a learning rate that is no
// longer stable. The epochs are those of rate .0171, which is ten; data of fewer than 60,000 examples have as many epochs as take the same
// time. Models of fewer than kSmallModel parameters, whose steps take next to no time, have twice the steps and epochs. The learning rates
// of the methods were chosen at rate .0171 and kPlannedSteps steps (docs/planning.md).
#pragma once

#include <cstdint>
#include <vector>

#include "fodp/accounting/ledger.h"

namespace fodp {

struct RunSize {
  double sample_rate = 1;
  std::int64_t steps = 1;

  double epochs() const { return sample_rate * static_cast<double>(steps); }
  friend bool operator==(const RunSize&, const RunSize&) = default;
};

inline constexpr std::int64_t kPlannedSteps = 585, kSmallModel = 5000;

double usual_epochs(std::int64_t examples, std::int64_t parameters);

// The choice. Its rate has three digits and its epochs are at most `epochs_most`, which is above 0.
RunSize planned_size(std::int64_t examples, std::int64_t parameters, double epochs_most);
inline RunSize planned_size(std::int64_t examples, std::int64_t parameters) {
  return planned_size(examples, parameters, usual_epochs(examples, parameters));
}

// What a table compares it with, in the order of their steps: other lots at the same epochs, as many steps with fewer epochs, full batches.
std::vector<RunSize> sizes_to_compare(std::int64_t examples, std::int64_t parameters, double epochs_most);

// F.
double excess_noise(const RunSize& size, double noise_multiplier, const Budget& budget);

// The largest power of ten at most 1/(10 x examples), as the double nearest to its text.
double usual_delta(std::int64_t examples);

}  // namespace fodp
