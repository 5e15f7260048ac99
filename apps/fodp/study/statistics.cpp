#include "study/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

#include "fodp/base/check.h"

namespace fodp::app {

Estimate estimate(std::span<const double> values) {
  Estimate out{.n = static_cast<std::int64_t>(values.size())};
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.std = std::sqrt(squares / (n - 1));
  const double reach = boost::math::quantile(boost::math::students_t(n - 1), .975) * *out.std / std::sqrt(n);
  out.low = out.mean - reach;
  out.high = out.mean + reach;
  return out;
}

Comparison compare(std::span<const double> values, std::span<const double> baseline) {
  check_input(values.size() == baseline.size(), "pairs: {} values and {} of the baseline", values.size(), baseline.size());
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.size(); ++i) differences.push_back(values[i] - baseline[i]);
  Comparison out{estimate(differences), {}};
  if (out.n < 2) return out;
  const auto n = static_cast<double>(out.n);
  if (*out.std <= 1e-12 * std::abs(out.mean)) {  // no spread: Student's test says nothing
    out.low = out.high = std::nullopt;
    if (out.mean == 0) out.low = out.high = 0, out.p = 1;
    return out;
  }
  out.p = 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(n - 1), std::abs(out.mean) / (*out.std / std::sqrt(n))));
  return out;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> corrected(p.size());
  double least = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    least = std::max(least, std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]));
    corrected[order[rank]] = least;
  }
  return corrected;
}

double sampling_error(double share, std::int64_t examples) {
  return examples > 0 ? std::sqrt(std::max(0.0, share * (1 - share)) / static_cast<double>(examples)) : 0;
}

}  // namespace fodp::app
