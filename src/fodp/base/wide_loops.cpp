#include "fodp/base/wide_loops.h"

#include "fodp/base/wide.h"

namespace fodp {
namespace {

FODP_WIDE void scale(double factor, double* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] *= factor;
}

FODP_WIDE void narrow(const double* values, float* rounded, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) rounded[i] = static_cast<float>(values[i]);
}

FODP_WIDE void along_line(const std::uint8_t* bytes, double slope, double offset, float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(slope * bytes[i] + offset);
}

}  // namespace

void multiply(double factor, std::span<double> values) { scale(factor, values.data(), values.size()); }

void round_to_float(std::span<const double> values, std::span<float> rounded) { narrow(values.data(), rounded.data(), rounded.size()); }

void ByteLine::apply(std::span<const std::uint8_t> bytes, float* values) const {
  along_line(bytes.data(), slope_, offset_, values, bytes.size());
}

}  // namespace fodp
