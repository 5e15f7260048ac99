// A mechanism opens a clipped sum, adds noise and makes a Release. The only maker of one, and only against a Charge that covers it.
//
// Noise is drawn on the un-scaled sum, on its lattice, at the effective ratio z = sigma/beta (docs/notation.md); whatever a mechanism does
// after that is post-processing. Where n sums are made of one lot (DP-SAM) each is noised at sqrt(n)*z, so that 1/z^2 is the sum of their
// 1/z_i^2; where numbers of the same rows come with a sum (adaptive clipping's count, noised at z_s) the vector takes what is left:
// 1/z_D^2 = 1/z^2 - 1/z_s^2.
//
// The loop over blocks of noise stands here; a mechanism gives the arithmetic of one block, and what comes before and after them.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fodp/accounting/event.h"
#include "fodp/accounting/ledger.h"
#include "fodp/base/parallel.h"
#include "fodp/base/schedule.h"
#include "fodp/base/state.h"
#include "fodp/mechanism/clipped_sum.h"
#include "fodp/mechanism/release.h"
#include "fodp/noise/stream.h"
#include "fodp/stages/context.h"

namespace fodp {

// The public numbers of a mechanism, step by step.
struct NoiseSchedule {
  Schedule noise_multiplier;  // sigma: the noise on the released query, over C
  Schedule beta = 1;          // weight of the fresh sum in the query
  std::int64_t steps = 1;     // of the run
  Schedule sample_rate = 1;   // only how it varies counts: releases are scaled to the first step's lot, after the noise
  double sensitivity = 1;     // of a sum, over C: sqrt(G) where each of G layers is clipped to C

  double effective(std::int64_t step) const;  // z: what is charged
  double largest_effective() const;           // no step has more
  double lot_scale(std::int64_t step) const;  // the first step's expected lot over this one's
};

// Of a run whose queries have this weight of the fresh sum.
NoiseSchedule noise_schedule(const RunContext& context, Schedule beta = 1);

class Mechanism {
 public:
  explicit Mechanism(NoiseSchedule schedule);
  virtual ~Mechanism() = default;

  const NoiseSchedule& schedule() const { return schedule_; }
  double effective_noise_multiplier() const { return schedule_.effective(step_); }  // in the present step

  // What releasing a sum of this rate and slack costs in a step.
  virtual Event event(std::int64_t step, double sample_rate, double slack) const;
  Event event(double sample_rate, double slack) const { return event(step_, sample_rate, slack); }  // in the present step
  Event event(const ClippedSum& sum) const { return event(sum.sample_rate(), sum.slack()); }

  // How many lots one event pays for: those of a cycle of as many groups of records. 1 but for correlated noise.
  virtual std::int64_t cycle() const { return 1; }
  // The noise that is left in the sum of so many releases, over that of independent noise with the same multiplier.
  virtual double end_noise(std::int64_t /*steps*/) const { return 1; }

  // The step that the next releases belong to, from 0, and the parameters at its start, which are public.
  void begin_step(std::int64_t step, std::span<const float> parameters);

  // A sum on its way to a release. Its blocks may be run by several threads or callers at once.
  class Opening;

  // Spends one release of the charge, then opens the sum. PrivacyError, with nothing opened, if the charge is for less than this costs, if
  // the noise was first used with another ledger (a ledger needs a RunKey of its own), or while another release is open: releases of one
  // mechanism follow each other.
  // `noise` must outlive the opening.
  Opening open(ClippedSum sum, Charge& charge, const RandomStream& noise);
  // All of it at once.
  Release release(ClippedSum sum, Charge& charge, const RandomStream& noise, const ParallelFor& parallel = one_by_one);
  Release release(ClippedSum sum, Charge&& charge, const RandomStream& noise, const ParallelFor& parallel = one_by_one) {
    return release(std::move(sum), charge, noise, parallel);
  }

  // From here on a release also carries the noised sum that it was made of (Release::noised_sum), for an audit.
  void keep_noised_sums() { keeps_noised_sums_ = true; }

  // Successive noised sums n_t, combined as sum_k w_k n_{t-k} with these weights, have independent noise, of the standard deviation that is
  // charged for. One weight of 1 but for correlated noise; the squared weights add up to 1.
  virtual std::vector<double> independent_noise_weights() const { return {1}; }

  // The part of a run's state that is in here; nothing secret unless the run is insecure.
  virtual void state(StateVisitor& visit);

  // Norms of the parts of the last release, un-noised: not private (--insecure-diagnostics). Not a number where it has none.
  struct InsecureParts {
    double signal, memory, noise_memory, noise;
    // Of mechanisms with a memory: how many past releases it effectively averages, 1/sum(w^2) of its normalised weights, and the norm of
    // its part of the release over that of the release.
    double memory_depth = NAN, memory_ratio = NAN;
  };
  virtual void keep_insecure_parts() {}
  virtual std::optional<InsecureParts> insecure_parts() const { return {}; }

 protected:
  // Coordinates [begin, begin + values.size()) of the noised sum s + z*C*Z, in units of the first step's lot.
  struct Block {
    std::int64_t index, begin;
    std::span<double> values;                // free to be changed
    std::span<const double> insecure_noise;  // the noise in them, where insecure_noise() asks for it
  };

  std::int64_t step() const { return step_; }
  double beta() const { return schedule_.beta.at(step_, schedule_.steps); }

  // Around the blocks of one release, of so many coordinates with noise of this standard deviation.
  virtual void begin(std::int64_t /*size*/) {}
  virtual void end(std::span<const float> /*released*/, double /*scale*/) {}
  // The values to release of one block. Called by several threads at once, each with blocks of its own.
  virtual void block(const Block& block, std::span<float> released) = 0;
  // Of the values just released, whose noise was drawn with this standard deviation.
  virtual std::optional<double> noise_variance(double scale) const { return scale * scale; }
  virtual void on_step(std::span<const float> /*parameters*/) {}
  // The noise of one block in units of the grid; independent of all other noise unless a mechanism correlates it. Called by several threads
  // at once, each with blocks of its own.
  virtual void draw_noise(const RandomStream& stream, std::uint64_t number, std::uint32_t block, double scale, double grid,
                          std::span<std::int64_t> noise);
  virtual bool insecure_noise() const { return false; }

 private:
  void check_charge(const ClippedSum& sum, const Charge& charge, const RandomStream& noise) const;
  void check_turn(const Draw& draw) const;
  std::vector<Release::Scalar> release_scalars(const Opening& opening) const;

  NoiseSchedule schedule_;
  std::int64_t step_ = 0;
  std::int64_t size_ = 0;  // of its sums, once one was released
  bool open_ = false;      // a release is being made
  bool keeps_noised_sums_ = false;
  std::optional<std::uint64_t> next_turn_;  // of a cyclic run; none before the first release
};

class Mechanism::Opening {
 public:
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  ~Opening();

  std::int64_t blocks() const;
  // Blocks [first, last), each of them once over all calls.
  void run(std::int64_t first, std::int64_t last);
  // The release, once every block was run: PrivacyError before, and for a second time.
  Release close();

 private:
  friend class Mechanism;
  Opening(Mechanism& mechanism, ClippedSum sum, const RandomStream& noise, std::uint64_t number, double scale, bool noised);

  Mechanism& mechanism_;
  ClippedSum sum_;
  const RandomStream& noise_;
  std::uint64_t number_;
  double scale_;      // standard deviation of the noise on the sum
  double lot_scale_;  // from the sum's units to those of the first step's lot
  bool noised_;
  std::shared_ptr<std::vector<float>> values_;
  std::shared_ptr<std::vector<double>> noised_sum_;  // if it is kept
  std::vector<std::atomic<bool>> done_;              // by block
};

// The multiplier that is left for a vector when these numbers are noised from the same rows and z is charged for all. InputError if z does
// not leave any.
double vector_multiplier(double z, std::span<const BoundedScalar> scalars);

}  // namespace fodp
