// A mechanism opens a clipped sum, adds noise and makes a Release. The only maker of one, and only against a Charge that covers it.
//
// Noise is drawn on the un-scaled sum, on its lattice, at the effective ratio z = sigma/beta (methods.md 0.1); whatever a mechanism does
// after that is post-processing. Where n sums are made of one lot (DP-SAM) each is noised at sqrt(n)*z, so that 1/z^2 is the sum of their
// 1/z_i^2; where numbers of the same rows come with a sum (adaptive clipping's count, noised at z_s) the vector takes what is left:
// 1/z_D^2 = 1/z^2 - 1/z_s^2.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fodp/accounting/event.h"
#include "fodp/accounting/ledger.h"
#include "fodp/base/schedule.h"
#include "fodp/gradients/clipped_sum.h"
#include "fodp/noise/stream.h"

namespace fodp {

// A private sum, with the private numbers that came with it: free to copy, use and publish.
class Release {
 public:
  std::span<const float> values() const { return *values_; }
  std::uint64_t number() const { return number_; }  // in the ledger: no other release of the run has it

  bool has_scalar(std::string_view name) const;
  double scalar(std::string_view name) const;  // InputError if it came without one

  // Of the noise in each value, where the mechanism knows it.
  std::optional<double> noise_variance() const { return noise_variance_; }

 private:
  friend class Mechanism;
  struct Scalar {
    std::string name;
    double value;
  };
  Release(std::shared_ptr<const std::vector<float>> values, std::vector<Scalar> scalars, std::optional<double> noise_variance,
          std::uint64_t number)
      : values_(std::move(values)), scalars_(std::move(scalars)), noise_variance_(noise_variance), number_(number) {}

  std::shared_ptr<const std::vector<float>> values_;
  std::vector<Scalar> scalars_;
  std::optional<double> noise_variance_;
  std::uint64_t number_;
};

// The public numbers of a mechanism, step by step.
struct NoiseSchedule {
  Schedule noise_multiplier;  // sigma: the noise on the released query, over C
  Schedule beta = 1;          // weight of the fresh sum in the query
  std::int64_t steps = 1;     // of the run
  Schedule sample_rate = 1;   // only how it varies counts: releases are scaled to the first step's lot, after the noise
  double sensitivity = 1;     // of a sum, over C: sqrt(G) where each of G layers is clipped to C

  double effective(std::int64_t step) const;  // z: what is charged
  double lot_scale(std::int64_t step) const;  // the first step's expected lot over this one's
};

class Mechanism {
 public:
  explicit Mechanism(NoiseSchedule schedule);
  virtual ~Mechanism() = default;

  // The step that the next releases belong to, from 0, and the parameters at its start, which are public.
  void begin_step(std::int64_t step, std::span<const float> parameters);

  double effective_noise_multiplier() const { return schedule_.effective(step_); }

  // What releasing a sum with this rate and slack costs in the present step.
  Event event(double sample_rate, double slack) const;
  Event event(const ClippedSum& sum) const { return event(sum.sample_rate(), sum.slack()); }

  // How many lots one event pays for: those of a cycle of as many groups of records. 1 but for correlated noise.
  virtual std::int64_t cycle() const { return 1; }

  // Spends one release of the charge, then opens the sum. PrivacyError, with nothing opened, if the charge is for less than this costs.
  Release release(ClippedSum sum, Charge& charge, const RandomStream& noise);
  Release release(ClippedSum sum, Charge&& charge, const RandomStream& noise) { return release(std::move(sum), charge, noise); }

 protected:
  // A block of the noised sum: coordinates [begin, begin + size) of s + z*C*Z, in units of the first step's lot, and, for insecure
  // diagnostics, its two parts.
  class NoisedSum {
   public:
    std::int64_t size() const { return static_cast<std::int64_t>(lattice_.size()); }
    static std::int64_t blocks(std::int64_t size);
    // Values of one block, at most kNoiseBlock of them; returns the first coordinate.
    std::int64_t block(std::int64_t index, std::vector<double>& values, std::vector<double>* insecure_noise = nullptr) const;
    double scale() const { return scale_; }  // standard deviation of the noise in these values

   private:
    friend class Mechanism;
    NoisedSum(Mechanism& mechanism, std::span<const std::int64_t> lattice, double grid, double noise_scale, double lot_scale,
              const RandomStream& noise, std::uint64_t number)
        : mechanism_(mechanism),
          lattice_(lattice),
          grid_(grid),
          noise_scale_(noise_scale),
          unit_(grid * lot_scale),
          scale_(noise_scale * lot_scale),
          noise_(noise),
          number_(number) {}

    Mechanism& mechanism_;
    std::span<const std::int64_t> lattice_;
    double grid_, noise_scale_, unit_, scale_;  // unit_: what a step of the grid is worth in the values
    const RandomStream& noise_;
    std::uint64_t number_;
  };

  std::int64_t step() const { return step_; }
  double beta() const { return schedule_.beta.at(step_, schedule_.steps); }
  const NoiseSchedule& schedule() const { return schedule_; }

  // Turns the noised sum into the values to release.
  virtual void transform(const NoisedSum& noised, std::span<float> released) = 0;
  // Of the values just released.
  virtual std::optional<double> noise_variance(double scale) const { return scale * scale; }
  virtual void on_step(std::span<const float> /*parameters*/) {}
  // The noise of one block in units of the grid; independent of all other noise unless a mechanism correlates it. Called by several threads
  // at once, each with blocks of its own.
  virtual void draw_noise(const RandomStream& stream, std::uint64_t number, std::uint32_t block, double scale, double grid,
                          std::span<std::int64_t> noise);

 private:
  std::vector<Release::Scalar> release_scalars(const ClippedSum& sum, bool noised, std::uint64_t number, const RandomStream& noise) const;

  void check_turn(const Draw& draw) const;

  NoiseSchedule schedule_;
  std::int64_t step_ = 0;
  std::int64_t size_ = 0;                   // of its sums, once one was released
  std::optional<std::uint64_t> next_turn_;  // of a cyclic run; none before the first release
};

// The multiplier that is left for a vector when these numbers are noised from the same rows and z is charged for all. InputError if z does
// not leave any.
double vector_multiplier(double z, std::span<const BoundedScalar> scalars);

}  // namespace fodp
