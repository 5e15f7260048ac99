#include "fodp/accounting/convolve.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// exp(-2*pi*I*k/size) for k < size/2, from the angles of one eighth of a turn.
std::vector<Complex> roots_of_unity(std::size_t size) {
  std::vector<Complex> roots(size / 2);
  const std::size_t quarter = size / 4;
  for (std::size_t k = 0; 2 * k <= quarter; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    const double c = std::cos(angle), s = std::sin(angle);
    roots[k] = {c, -s};
    if (k > 0) roots[quarter - k] = {s, -c};
    roots[quarter + k] = {-s, -c};
    if (k > 0) roots[size / 2 - k] = {-c, -s};
  }
  roots[quarter] = {0, -1};
  return roots;
}

Complex times_minus_i(Complex a) { return {a.im, -a.re}; }

}  // namespace

RealFourier::RealFourier(std::size_t size) : size_(size) {
  check_input(std::has_single_bit(size) && size >= 4, "transform of {} values: must be a power of two, at least 4", size);
  roots_ = roots_of_unity(size);
  scratch_.resize(size / 2);
  half_.resize(size / 2);
}

double RealFourier::relative_error() const {
  // Per level of two: a root within 3 units in the last place, one product and one sum, 8 units in all; two more for the real form.
  return 4 * std::numeric_limits<double>::epsilon() * (std::bit_width(size_) + 2);
}

double RealFourier::uniform_error() const {
  // Every value is a sum of all inputs, each times a number of size 1, and takes the roundings of its levels; the real form joins two.
  return 2 * relative_error();
}

// Stockham's self-sorting form, decimation in frequency, for size/2 complex values.
void RealFourier::transform(std::vector<Complex>& data) {
  const std::size_t points = size_ / 2;
  Complex* from = data.data();
  Complex* to = scratch_.data();
  std::size_t stride = 1;
  for (std::size_t length = points; length > 1;) {
    if (length % 4 == 0) {
      const std::size_t quarter = length / 4;
      for (std::size_t p = 0; p < quarter; ++p) {
        const Complex w1 = roots_[2 * p * stride], w2 = roots_[4 * p * stride], w3 = w1 * w2;
        const Complex* in = from + stride * p;
        Complex* out = to + 4 * stride * p;
        for (std::size_t i = 0; i < stride; ++i) {
          const Complex a = in[i], b = in[i + stride * quarter], c = in[i + 2 * stride * quarter], d = in[i + 3 * stride * quarter];
          const Complex even = a + c, odd = a - c, sum = b + d, turned = times_minus_i(b - d);
          out[i] = even + sum;
          out[i + stride] = w1 * (odd + turned);
          out[i + 2 * stride] = w2 * (even - sum);
          out[i + 3 * stride] = w3 * (odd - turned);
        }
      }
      length /= 4;
      stride *= 4;
    } else {
      for (std::size_t i = 0; i < stride; ++i) {
        const Complex a = from[i], b = from[i + stride];
        to[i] = a + b;
        to[i + stride] = a - b;
      }
      length /= 2;
      stride *= 2;
    }
    std::swap(from, to);
  }
  if (from != data.data()) std::swap(data, scratch_);
}

void RealFourier::forward(const std::vector<double>& values, std::vector<Complex>& spectrum) {
  const std::size_t points = size_ / 2;
  for (std::size_t i = 0; i < points; ++i) half_[i] = {values[2 * i], values[2 * i + 1]};
  transform(half_);
  spectrum.resize(points + 1);
  spectrum[0] = {half_[0].re + half_[0].im, 0};
  spectrum[points] = {half_[0].re - half_[0].im, 0};
  for (std::size_t k = 1; k < points; ++k) {
    const Complex a = half_[k], b = conjugate(half_[points - k]);
    spectrum[k] = .5 * (a + b) + roots_[k] * times_minus_i(.5 * (a - b));
  }
}

void RealFourier::inverse(std::vector<Complex>& spectrum, std::vector<double>& values) {
  const std::size_t points = size_ / 2;
  // The inverse transform is the conjugate of the transform of the conjugate.
  for (std::size_t k = 0; k < points; ++k) {
    const Complex a = spectrum[k], b = conjugate(spectrum[points - k]);
    half_[k] = conjugate(.5 * (a + b) - times_minus_i(conjugate(roots_[k]) * (.5 * (a - b))));
  }
  transform(half_);
  values.resize(size_);
  const double scale = 1 / static_cast<double>(points);
  for (std::size_t i = 0; i < points; ++i) {
    values[2 * i] = scale * half_[i].re;
    values[2 * i + 1] = -scale * half_[i].im;
  }
}

}  // namespace fodp
