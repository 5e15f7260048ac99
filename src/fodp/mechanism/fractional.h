// FO-DP-SGD's mechanism: the query blends the current clipped sum with a fractional memory of past releases (paper Algorithm 1).
//
//   S_t = beta*(s_t + (sigma/beta)*C*Z_t) + (1-beta)*u_{t-1},   u_{t-1} = sum_j ahat_{t,j} S_{t-j}
//
// The noise is drawn on s_t itself at ratio sigma/beta: that release is DP-SGD's, its event SGM(q, sigma/beta) (Theorem B.2), and the blend
// is post-processing. One pass over the window per step.
#pragma once

#include <optional>

#include "fodp/mechanism/kernel.h"
#include "fodp/mechanism/mechanism.h"
#include "fodp/mechanism/memory.h"
#include "fodp/mechanism/noise_covariance.h"

namespace fodp {

// The parts of a release (paper B.3, eq. 45): S = signal + recursive memory + noise memory + noise. Un-noised: not private.
struct Decomposition {
  std::vector<double> signal, memory, noise_memory, noise;
};

class FractionalMechanism : public Mechanism {
 public:
  // `noise_multiplier` is sigma: the noise on the blended query, over C.
  FractionalMechanism(double noise_multiplier, const FractionalParameters& parameters);
  // beta by schedule, instead of the parameters'.
  FractionalMechanism(const NoiseSchedule& schedule, const FractionalParameters& parameters);

  // Keeps account of how much noise each release has (Release::noise_variance), from the first on.
  void keep_noise_variance();

  // Keeps the parts of each release from now on. Not private.
  void keep_insecure_parts() override;
  std::optional<InsecureParts> insecure_parts() const override;
  const Decomposition& insecure_decomposition() const { return parts_; }

  void state(StateVisitor& visit) override;

 protected:
  void begin(std::int64_t size) override;
  void block(const Block& block, std::span<float> released) override;
  void end(std::span<const float> released, double scale) override;
  std::optional<double> noise_variance(double scale) const override;
  bool insecure_noise() const override { return insecure_; }

 private:
  std::vector<double> lag_coefficients() const;
  void make_memory(std::int64_t size);
  void decompose(const Block& block);
  void remember_parts(std::span<const float> released);

  bool remembers() const { return !(schedule().beta == Schedule(1)); }

  FractionalParameters parameters_;
  std::optional<Memory> memory_;
  std::optional<NoiseCovariance> covariance_;
  std::vector<double> past_;                // the lags' coefficients in the release being made
  std::vector<Memory::Products> products_;  // of its blocks
  bool insecure_ = false;
  Decomposition parts_;
  std::vector<std::vector<double>> past_queries_, past_noise_;  // by lag, newest first
};

}  // namespace fodp
