// Lower bounds on epsilon from the outcome of a membership test. Each bound holds with the confidence 1 - `chance`: if the mechanism is
// (epsilon, delta) differentially private, the bound exceeds epsilon with at most that probability. A bound of 0 says nothing.
//
// A test looks at what was released and says for each canary (a record made to be found) whether it was among the training rows. How often
// it is right for canaries that were, and wrong for those that were not, limits how private the releases can be.
#pragma once

#include <cstdint>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"

namespace fodp {

// How often a test said "it was among the rows", of independent canaries that were among them and that were not.
struct TestCounts {
  std::int64_t in = 0, said_of_in = 0;
  std::int64_t out = 0, said_of_out = 0;

  // The same test for the opposite question, "it was not among the rows".
  TestCounts reversed() const { return {out, out - said_of_out, in, in - said_of_in}; }
};

// The ends of the Clopper-Pearson interval of a rate, each exceeded with probability `chance`.
double upper_rate(std::int64_t hits, std::int64_t trials, double chance);
double lower_rate(std::int64_t hits, std::int64_t trials, double chance);

// From the two rates alone: (epsilon, delta) privacy has true rate <= e^epsilon * false rate + delta. Nothing is assumed of the mechanism.
double counted_epsilon(const TestCounts& counts, double delta, double chance);

// For a mechanism that is the announced one, `events`, with all its noise multiplied by some factor: the largest factor that the rates
// still allow gives the bound. It is much tighter than counted_epsilon, since a Gaussian mechanism's rates at one threshold fix its rates
// at every other.
double gaussian_epsilon(const TestCounts& counts, const Events& events, double delta, const Accountant& accountant, double chance);

// From one run (Steinke, Nasr and Jagielski 2023, Theorem 5.2): each of `canaries` was among the rows by a fair coin of its own, the test
// made `guesses` of them and `correct` were right. The guesses may depend on each other in any way.
double one_run_epsilon(std::int64_t canaries, std::int64_t guesses, std::int64_t correct, double delta, double chance);

}  // namespace fodp
