// DOPPLER's low-pass filter (Zhang et al. 2024): the noise of private gradients is white, the signal slow.
//
//   m_t = -sum_{r>=1} a_r m_{t-r} + sum_{r>=0} b_r g_{t-r},   divided by the same filter run on ones, from a zero state
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/update/filter.h"

namespace fodp {

struct LowPassOptions {
  std::int64_t filter_order = 2;

  static auto fields() {
    return std::tuple{
        field("filter-order", &LowPassOptions::filter_order, "1: m <- .9*m + .1*g; 2: the published second-order low pass", between(1, 2))};
  }
};

class LowPass : public Filter {
 public:
  explicit LowPass(const LowPassOptions& options);
  std::span<const float> apply(std::span<const float> sum) override;
  void state(StateVisitor& visit) override;

 private:
  // The past of one coordinate: outputs and inputs, the newest of each first.
  static constexpr std::size_t kPast = 4;
  double step(double* past, double value) const;

  std::array<double, 2> a_{};  // a_1, a_2
  std::array<double, 3> b_{};
  std::vector<double> past_;                               // of every coordinate
  std::vector<double> ones_ = std::vector<double>(kPast);  // of the filter run on ones
  std::vector<float> filtered_;
};

}  // namespace fodp
