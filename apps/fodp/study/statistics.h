// What a few runs say about a mean and a difference.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fodp::app {

// Of one quantity over the seeds. The interval is Student's, at 95%; with one value it is not known, and neither is the deviation.
struct Estimate {
  std::int64_t n = 0;
  double mean = 0;
  std::optional<double> std, low, high;
};
Estimate estimate(std::span<const double> values);

// The mean of the differences of pairs with its interval, and the chance, if the true mean were 0, of one so far from it (two-sided t
// test). Where every pair differs by the same amount, other than 0, neither is known: there is no spread to compare it with.
struct Comparison : Estimate {
  std::optional<double> p;
};
Comparison compare(std::span<const double> values, std::span<const double> baseline);

// Holm's correction of p-values for the number of tests, in their order: each at least its p, and the chance of any false rejection at
// level a is at most a.
std::vector<double> holm(std::span<const double> p);

// The standard error that a share of successes has because the test set is a sample: sqrt(p(1-p)/n).
double sampling_error(double share, std::int64_t examples);

}  // namespace fodp::app
