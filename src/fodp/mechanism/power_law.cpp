#include "fodp/mechanism/power_law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace fodp {
namespace {

constexpr std::size_t kLeastTail = 5;
constexpr double kLeastShare = 1e-12;

// Two-sided Kolmogorov-Smirnov distance of an ascending tail from F = 1 - (x/x_min)^(1-exponent).
double distance_from_law(std::span<const double> tail, double exponent) {
  const double n = static_cast<double>(tail.size());
  double distance = 0;
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const double law = 1 - std::pow(tail[i] / tail.front(), 1 - exponent), below = static_cast<double>(i);
    distance = std::max({distance, std::abs((below + 1) / n - law), std::abs(below / n - law)});
  }
  return distance;
}

}  // namespace

std::optional<double> power_law_exponent(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  if (values.empty() || !(values.back() > 0) || !std::isfinite(values.back())) return {};
  std::erase_if(values, [least = kLeastShare * values.back()](double x) { return !(x > least); });
  std::optional<double> best;
  double least_distance = std::numeric_limits<double>::infinity();
  for (std::size_t first = 0; first + kLeastTail <= values.size(); ++first) {
    if (first > 0 && values[first] == values[first - 1]) continue;  // the tail of a value holds all of its equals
    const std::span<const double> tail = std::span(values).subspan(first);
    double logs = 0;
    for (double x : tail) logs += std::log(x / tail.front());
    if (logs <= 0) continue;
    const double exponent = 1 + static_cast<double>(tail.size()) / logs;
    const double distance = distance_from_law(tail, exponent);
    if (distance < least_distance) least_distance = distance, best = exponent;  // ties go to the smaller x_min
  }
  return best;
}

}  // namespace fodp
