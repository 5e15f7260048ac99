#include "fodp/accounting/convolve.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

std::vector<double> random_values(std::size_t size) {
  std::mt19937 generator(static_cast<unsigned>(size));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(size);
  for (double& value : values) value = uniform(generator);
  return values;
}

TEST(RealFourier, IsTheDefinition) {
  for (std::size_t size : {4, 8, 16, 32, 64, 128, 512, 1024}) {
    const std::vector<double> values = random_values(size);
    RealFourier fourier(size);
    std::vector<Complex> spectrum;
    fourier.forward(values, spectrum);
    ASSERT_EQ(spectrum.size(), size / 2 + 1);
    double error = 0, norm = 0;
    for (std::size_t k = 0; k <= size / 2; ++k) {
      long double re = 0, im = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const long double angle =
            2 * std::numbers::pi_v<long double> * static_cast<long double>(i * k % size) / static_cast<long double>(size);
        re += values[i] * std::cos(angle);
        im -= values[i] * std::sin(angle);
      }
      const Complex exact{static_cast<double>(re), static_cast<double>(im)};
      error += (spectrum[k] - exact).squared();
      norm += exact.squared();
    }
    EXPECT_LE(std::sqrt(error), fourier.relative_error() * std::sqrt(norm)) << size;
  }
}

// Nearly all mass at one place, as a step that hardly ever loses anything: no value may be off by more than its share.
TEST(RealFourier, EveryValueIsNear) {
  constexpr std::size_t kSize = 512;
  std::vector<double> values(kSize);
  double sum = 0;
  for (std::size_t i = 0; i < kSize; ++i) sum += values[i] = std::exp(-.3 * static_cast<double>(i)) / 3;
  RealFourier fourier(kSize);
  std::vector<Complex> spectrum;
  fourier.forward(values, spectrum);
  double largest = 0;
  for (std::size_t k = 0; k <= kSize / 2; ++k) {
    long double re = 0, im = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(i * k % kSize) / kSize;
      re += values[i] * std::cos(angle);
      im -= values[i] * std::sin(angle);
    }
    largest = std::max(largest, static_cast<double>(std::hypot(spectrum[k].re - re, spectrum[k].im - im)));
  }
  EXPECT_LE(largest, fourier.uniform_error() * sum);
  EXPECT_GT(largest, 1e-4 * fourier.uniform_error() * sum) << "some rounding there must be";
}

TEST(RealFourier, InverseUndoesForward) {
  for (std::size_t size : {4, 8, 64, 4096, 1 << 17}) {
    const std::vector<double> values = random_values(size);
    RealFourier fourier(size);
    std::vector<Complex> spectrum;
    std::vector<double> back;
    fourier.forward(values, spectrum);
    fourier.inverse(spectrum, back);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < size; ++i) error += std::pow(back[i] - values[i], 2), norm += values[i] * values[i];
    EXPECT_LE(std::sqrt(error), 2 * fourier.relative_error() * std::sqrt(norm)) << size;
  }
}

TEST(RealFourier, ConvolvesByProducts) {
  std::vector<double> a(16), b(16), c;
  a[1] = 2, a[3] = 1, b[0] = 1, b[15] = 4;
  RealFourier fourier(16);
  std::vector<Complex> x, y;
  fourier.forward(a, x);
  fourier.forward(b, y);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = x[k] * y[k];
  fourier.inverse(x, c);
  const std::vector<double> expected{8, 2, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(c[i], expected[i], 1e-14) << i;
}

TEST(RealFourier, RefusesOtherSizes) {
  for (std::size_t size : {0, 1, 2, 3, 12, 100}) EXPECT_THROW(RealFourier{size}, InputError) << size;
}

}  // namespace
}  // namespace fodp
