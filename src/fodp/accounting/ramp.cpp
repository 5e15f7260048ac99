#include "fodp/accounting/ramp.h"

#include <cmath>

namespace fodp {
namespace {

constexpr double kSame = 1e-12;

bool same(double a, double b) { return a == b || std::abs(a - b) <= kSame * std::abs(b); }

bool gives(const Ramp& ramp, std::span<const double> values) {
  const auto steps = static_cast<std::int64_t>(values.size());
  for (std::int64_t i = 0; i < steps; ++i)
    if (!same(ramp.at(i, steps), values[static_cast<std::size_t>(i)])) return false;
  return true;
}

}  // namespace

double Ramp::at(std::int64_t step, std::int64_t steps) const {
  if (constant() || steps < 2) return first;
  const double t = static_cast<double>(step) / static_cast<double>(steps - 1);
  if (weight == 1) return std::lerp(first, last, t);
  return std::lerp(first, weight * last, t) / std::lerp(1, weight, t);
}

std::optional<Ramp> ramp_through(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  Ramp ramp{values.front(), values.back()};
  if (same(ramp.last, ramp.first)) ramp.last = ramp.first;
  if (gives(ramp, values)) return ramp;
  // The weight that gives the value in the middle.
  const std::size_t middle = values.size() / 2;
  const double t = static_cast<double>(middle) / static_cast<double>(values.size() - 1), value = values[middle];
  ramp.weight = (1 - t) * (ramp.first - value) / (t * (value - ramp.last));
  if (!(ramp.weight > 0) || !std::isfinite(ramp.weight) || !gives(ramp, values)) return std::nullopt;
  return ramp;
}

}  // namespace fodp
