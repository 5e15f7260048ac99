// Fourier transforms of real vectors, for compositions: the distribution of a sum of independent losses is the inverse transform of the
// product of their transforms.
//
// Own code, since no permissively licensed transform in double comes with Debian 12 (docs/dependencies.md). Radix 4, out of place, with
// twiddle factors that are correct to the last digits. `relative_error` bounds the distance of each transform from the exact one.
#pragma once

#include <cstddef>
#include <vector>

namespace fodp {

struct Complex {
  double re = 0, im = 0;

  double squared() const { return re * re + im * im; }
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  friend Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
};

inline Complex conjugate(Complex a) { return {a.re, -a.im}; }

class RealFourier {
 public:
  // `size` is a power of two, at least 4; InputError otherwise.
  explicit RealFourier(std::size_t size);

  std::size_t size() const { return size_; }

  // The first size/2 + 1 of sum_i values[i] * exp(-2*pi*I*i*k/size); the others are their conjugates.
  void forward(const std::vector<double>& values, std::vector<Complex>& spectrum);

  // Undoes forward(), scale included. `spectrum` is used as scratch.
  void inverse(std::vector<Complex>& spectrum, std::vector<double>& values);

  // |computed - exact| <= relative_error() * |exact| in the Euclidean norm, for both (Higham 2002, Theorem 24.2).
  double relative_error() const;
  // |computed - exact| <= uniform_error() * (sum of the values' sizes) for each value of forward().
  double uniform_error() const;

 private:
  void transform(std::vector<Complex>& data);

  std::size_t size_;
  std::vector<Complex> roots_;  // exp(-2*pi*I*k/size), k < size/2
  std::vector<Complex> scratch_, half_;
};

}  // namespace fodp
