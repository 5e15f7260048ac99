// A mechanism on rows that the test chooses, with its ledger and its noise.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "known_sum.h"

namespace fodp::testing {

using Vector = std::vector<double>;

class Bench {
 public:
  Bench(std::unique_ptr<Mechanism> mechanism, std::int64_t size, std::uint64_t seed = 1)
      : mechanism_(std::move(mechanism)), known_(size), stream_([&] {
          const RunKey key = RunKey::from_insecure_seed(seed);
          return RandomStream(key, Purpose::noise);
        }()) {}

  std::vector<float> release(const GivenRows& rows) {
    const Release release = released(rows);
    return {release.values().begin(), release.values().end()};
  }

  // At a charge of its own.
  Release released(const GivenRows& rows, const ClipRequest& request = {}) {
    ClippedSum sum = known_.of(rows, {}, request);
    Charge charge = ledger_.charge(mechanism_->event(sum));
    return mechanism_->release(std::move(sum), std::move(charge), stream_);
  }

  // The clipped sum itself.
  Vector sum(const GivenRows& rows) const {
    const std::vector<float> values = opened(known_.of(rows));
    return {values.begin(), values.end()};
  }

  Mechanism& mechanism() { return *mechanism_; }
  const KnownSum& known() const { return known_; }
  Ledger& ledger() { return ledger_; }
  const RandomStream& stream() const { return stream_; }

 private:
  std::unique_ptr<Mechanism> mechanism_;
  KnownSum known_;
  Ledger ledger_;
  RandomStream stream_;
};

inline double distance(const std::vector<float>& a, const Vector& b) {
  double squared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squared += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squared);
}

template <class Values>
double mean_square(const Values& values) {
  double squared = 0;
  for (double value : values) squared += value * value;
  return squared / static_cast<double>(values.size());
}

// Five standard errors of a variance estimated from so many normals, over that variance: a false alarm in 2e6 if the seed were free.
inline double five_errors(double count) { return 5 * std::sqrt(2 / count); }

}  // namespace fodp::testing
