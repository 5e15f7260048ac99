// DOPPLER's low-pass filter (Zhang et al. 2024): the noise of private gradients is white, the signal slow.
//
//   m_t = -sum_{r>=1} a_r m_{t-r} + sum_{r>=0} b_r g_{t-r},   divided by the same filter run on ones, from a zero state
#pragma once

#include <array>

#include "fodp/update/filter.h"

namespace fodp {

class LowPass : public Filter {
 public:
  explicit LowPass(const LowPassOptions& options);
  std::span<const float> apply(std::span<const float> sum) override;

 private:
  // One coordinate's past, newest first.
  struct State {
    std::array<double, 2> output{}, input{};
  };
  double step(State& state, double value) const;

  std::array<double, 2> a_{};  // a_1, a_2
  std::array<double, 3> b_{};
  std::vector<State> states_;
  State ones_;
  std::vector<float> filtered_;
};

}  // namespace fodp
