// Loops over numbers that several parts need, compiled for the widest vector registers that the processor has (base/wide.h).
#pragma once

#include <cstdint>
#include <span>

namespace fodp {

void multiply(double factor, std::span<double> values);

// Rounds each value to float. Both have the same size.
void round_to_float(std::span<const double> values, std::span<float> rounded);

// (byte/255 - mean)/std of each byte, as slope*byte + offset in double, rounded to float: the same floats but for one in a million.
class ByteLine {
 public:
  ByteLine(double mean, double std) : slope_(1 / (255 * std)), offset_(-mean / std) {}
  void apply(std::span<const std::uint8_t> bytes, float* values) const;

 private:
  double slope_, offset_;
};

}  // namespace fodp
