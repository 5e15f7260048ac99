// SMA-DP-SGD's mechanism (Partohaghighi and Marcia 2026, arXiv 2605.20450): a memory for each layer, tempered by how far the spectrum of
// the layer's weights is from a healthy power law, gated by its agreement with the trend. docs/methods.md, sma-dp-sgd.
//
//   S = beta*(s + (sigma/beta)*C*Z) + (1-beta)*omega*Gamma*Psi*v,   v = sum_j ahat_j S_{t-j},  layer by layer
//
// The event is SGM(q, sigma/beta); spectra, gates and memory are functions of parameters and releases only.
#pragma once

#include <cstdint>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/mechanism/kernel.h"
#include "fodp/mechanism/mechanism.h"
#include "fodp/mechanism/memory.h"

namespace fodp {

struct SpectralOptions {
  double rho_min = 2, rho_max = 6;
  double spectral_tempering = .5;
  std::int64_t spectral_every = 25;
  double norm_cap = 1;
  double warm_up = 50;

  static auto fields() {
    using Self = SpectralOptions;
    return std::tuple{
        field("rho-min", &Self::rho_min, "smallest exponent of a layer's spectrum that needs no tempering", above(1)),
        field("rho-max", &Self::rho_max, "largest exponent of a layer's spectrum that needs no tempering", above(1)),
        field("spectral-tempering", &Self::spectral_tempering, "c_lambda: lambda = 1 - exp(-c*d) at distance d from that range",
              at_least(0)),
        field("spectral-every", &Self::spectral_every, "R: steps between looks at the spectra", between(1, 1e9)),
        field("norm-cap", &Self::norm_cap, "xi_max: how far the memory may be scaled up to the trend's norm", above(0)),
        field("warm-up", &Self::warm_up, "tau_w: the memory enters with 1 - exp(-t/tau_w)", above(0)),
    };
  }
};

class SpectralMechanism : public Mechanism {
 public:
  // Of the memory's options alpha, window, gamma and stability are used; `stability` 1e-8 unless given.
  SpectralMechanism(const NoiseSchedule& schedule, const FractionalOptions& memory, const SpectralOptions& spectral,
                    std::vector<LayerGroup> layers);

  double tempering(std::size_t layer) const { return tempering_[layer]; }  // lambda_t

  void state(StateVisitor& visit) override;

  std::optional<InsecureParts> insecure_parts() const override;  // only what it says of the memory

 protected:
  void begin(std::int64_t size) override;
  void block(const Block& block, std::span<float> released) override;
  void end(std::span<const float> released, double scale) override;
  std::optional<double> noise_variance(double) const override { return {}; }  // differs by layer
  void on_step(std::span<const float> parameters) override;

 private:
  bool remembers() const { return !(schedule().beta == Schedule(1)); }
  void make_memories();
  std::vector<double> lag_coefficients(std::size_t layer) const;

  FractionalParameters parameters_;
  SpectralOptions spectral_;
  std::vector<LayerGroup> layers_;
  std::vector<Memory> memories_;                         // by layer; none before the first release
  std::vector<std::vector<double>> past_;                // by layer: the lags' coefficients in the release being made
  std::vector<std::vector<Memory::Products>> products_;  // of its blocks, by block and layer
  std::vector<double> tempering_;
  std::vector<double> memory_norms_;  // by layer: of the memory's part of the last release
  double released_squared_ = 0;       // the squared norm of the last release
};

}  // namespace fodp
