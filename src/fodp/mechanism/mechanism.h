// A mechanism opens a clipped sum, adds noise and makes a Release. The only maker of one, and only against a Charge that covers it.
//
// Noise is drawn on the un-scaled sum, on its lattice, at the effective ratio (sigma, or sigma/beta with memory: methods.md 0.1); whatever
// a mechanism does after that is post-processing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fodp/accounting/event.h"
#include "fodp/accounting/ledger.h"
#include "fodp/gradients/clipped_sum.h"
#include "fodp/noise/stream.h"

namespace fodp {

// A private sum: free to copy, use and publish.
class Release {
 public:
  std::span<const float> values() const { return *values_; }
  std::uint64_t number() const { return number_; }  // of its event in the ledger

 private:
  friend class Mechanism;
  Release(std::shared_ptr<const std::vector<float>> values, std::uint64_t number) : values_(std::move(values)), number_(number) {}

  std::shared_ptr<const std::vector<float>> values_;
  std::uint64_t number_;
};

class Mechanism {
 public:
  virtual ~Mechanism() = default;

  // What releasing a sum with this rate and slack costs.
  Event event(double sample_rate, double slack) const;
  Event event(const ClippedSum& sum) const { return event(sum.sample_rate(), sum.slack()); }

  // Spends the charge, then opens the sum. PrivacyError, with nothing opened, if the charge is for less than this release costs.
  Release release(ClippedSum sum, Charge charge, const RandomStream& noise);

  // The ratio of noise to sensitivity that is charged: z.
  virtual double effective_noise_multiplier() const = 0;

 protected:
  // A block of the noised sum: coordinates [begin, begin + size) of s + z*C*Z, and, for insecure diagnostics, its two parts.
  class NoisedSum {
   public:
    std::int64_t size() const { return static_cast<std::int64_t>(lattice_.size()); }
    static std::int64_t blocks(std::int64_t size);
    // Values of one block, at most kNoiseBlock of them; returns the first coordinate.
    std::int64_t block(std::int64_t index, std::vector<double>& values, std::vector<double>* insecure_noise = nullptr) const;

   private:
    friend class Mechanism;
    NoisedSum(std::span<const std::int64_t> lattice, double grid, double scale, const RandomStream& noise, std::uint64_t number)
        : lattice_(lattice), grid_(grid), scale_(scale), noise_(noise), number_(number) {}

    std::span<const std::int64_t> lattice_;
    double grid_, scale_;
    const RandomStream& noise_;
    std::uint64_t number_;
  };

  // Turns the noised sum into the values to release.
  virtual void transform(const NoisedSum& noised, std::span<float> released) = 0;
};

}  // namespace fodp
