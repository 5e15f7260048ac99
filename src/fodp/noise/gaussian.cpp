#include "fodp/noise/gaussian.h"

#include <bit>
#include <cfloat>
#include <cmath>

#include "fodp/base/check.h"

// The arithmetic is plain C++ without calls or branches, which the compiler turns into vector code. Every vector width gives the same bits,
// because each product, sum, quotient and root is correctly rounded by itself (no contraction: cmake/options.cmake).
static_assert(FLT_EVAL_METHOD == 0, "double must be computed as double");
#if defined(__FAST_MATH__)
#error "noise must not be compiled with -ffast-math"
#endif

#define FODP_INLINE [[gnu::always_inline]] inline

namespace fodp {

namespace {

// Polynomials of least largest relative error, found by Remez' algorithm, from the constant coefficient on. With z = x^2 and |x| <= 1/2,
// sin(x*pi/2) = x*sine(z) within 2^-58 and cos(x*pi/2) = 1 + z*cosine(z) within 2^-64. With z = s^2 and |s| <= .1716,
// log((1+s)/(1-s)) = 2s + s*z*logarithm(z) within 2^-59.
using Coefficients = double[7];
constexpr Coefficients kSine = {0x1.921fb54442d18p+0,  -0x1.4abbce625be41p-1,  0x1.466bc67758700p-4, -0x1.32d2cce2d5363p-8,
                                0x1.50782fca38ddbp-13, -0x1.e30063a046395p-19, 0x1.e3eed5d693453p-25};
constexpr Coefficients kCosine = {-0x1.3bd3cc9be45dep+0,  0x1.03c1f081b5ab1p-2,  -0x1.55d3c7e3c96f4p-6, 0x1.e1f50683ce543p-11,
                                  -0x1.a6d1ecc96eaf2p-16, 0x1.f9cc77752facbp-22, -0x1.b27363486abe4p-28};
constexpr Coefficients kLogarithm = {0x1.555555555558fp-1, 0x1.9999999980d1dp-2, 0x1.249249413b384p-2, 0x1.c71c528a116a9p-3,
                                     0x1.7466274c9392fp-3, 0x1.39a3e569166fdp-3, 0x1.2ef13e6271cd0p-3};

FODP_INLINE double polynomial(const Coefficients& coefficients, double z) {
  double value = coefficients[6];
  for (int i = 5; i >= 0; --i) value = value * z + coefficients[i];
  return value;
}

constexpr std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
FODP_INLINE double from_bits(std::uint64_t word) { return std::bit_cast<double>(word); }

// An integer below 2^52 as a double, exactly: it is put into the last bits of 2^52, which is then subtracted, together with `offset`.
FODP_INLINE double small_integer(std::uint64_t word, double offset = 0) { return from_bits(word | bits(0x1p52)) - (0x1p52 + offset); }

// A word as a double with one rounding. Its lower half, put into the last bits of 2^52, and its upper half, put into the last bits of 2^84,
// are exact doubles. Their sum less 2^52 + 2^84 is the word.
FODP_INLINE double to_double(std::uint64_t word) {
  return (from_bits((word >> 32) | bits(0x1p84)) - (0x1p84 + 0x1p52)) + from_bits((word & 0xffffffff) | bits(0x1p52));
}

// The natural logarithm of a positive normal number u = m * 2^e with sqrt(1/2) <= m < sqrt(2): with f = m - 1 and s = f/(2 + f) it is
// e*log(2) + f - s*(f - s^2*logarithm(s^2)). The upper part of log(2) has so few bits that its product with e is exact.
FODP_INLINE double log_of(double u) {
  constexpr double kRootOfHalf = 0x1.6a09e667f3bcdp-1, kUpperLog2 = 0x1.62e42fefa3800p-1, kLowerLog2 = 0x1.ef35793c76730p-45;
  constexpr std::uint64_t kBias = std::uint64_t{1023} << 52;
  const std::uint64_t biased = (bits(u) - bits(kRootOfHalf) + kBias) >> 52;
  const double e = small_integer(biased, 1023), m = from_bits(bits(u) - (biased << 52) + kBias);
  const double f = m - 1, s = f / (m + 1), z = s * s;
  return e * kUpperLog2 - ((s * (f - z * polynomial(kLogarithm, z)) - e * kLowerLog2) - f);
}

// The second word of a pair holds 53 bits of the angle and, below them, 11 bits of the uniform that makes the radius, which follow the 64
// bits of the first word. The angle is a multiple of a quarter turn and a rest of at most an eighth, to either side.
FODP_INLINE void make_normals(const std::uint64_t* __restrict words, double* __restrict normals, std::size_t pairs) {
  constexpr std::uint64_t kFineBits = 0x7ff, kEighth = std::uint64_t{1} << 50, kRestBits = 2 * kEighth - 1, kSign = std::uint64_t{1} << 63;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::uint64_t first = words[2 * i], second = words[2 * i + 1];
    const double fine = small_integer(second & kFineBits, -.5) * 0x1p-11;
    const double radius = std::sqrt(-2 * log_of((to_double(first) + fine) * 0x1p-64));
    const std::uint64_t turned = (second >> 11) + kEighth, quarters = turned >> 51;
    const double x = small_integer(turned & kRestBits, 0x1p50) * 0x1p-51, z = x * x;
    const std::uint64_t sine = bits(x * polynomial(kSine, z)), cosine = bits(1 + z * polynomial(kCosine, z));
    // After 0, 1, 2 and 3 quarters (cosine, sine) is (c, s), (-s, c), (-c, -s) and (s, -c) of the rest.
    const std::uint64_t odd = 0 - (quarters & 1);
    const std::uint64_t across = ((cosine & ~odd) | (sine & odd)) ^ (((quarters + 1) << 62) & kSign);
    const std::uint64_t up = ((sine & ~odd) | (cosine & odd)) ^ ((quarters << 62) & kSign);
    normals[2 * i] = radius * from_bits(across);
    normals[2 * i + 1] = radius * from_bits(up);
  }
}

void two_lanes(const std::uint64_t* words, double* normals, std::size_t pairs) { make_normals(words, normals, pairs); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) void four_lanes(const std::uint64_t* words, double* normals, std::size_t pairs) {
  make_normals(words, normals, pairs);
}
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) void eight_lanes(const std::uint64_t* words, double* normals,
                                                                               std::size_t pairs) {
  make_normals(words, normals, pairs);
}
#endif

}  // namespace

int widest_lanes() {
#if defined(__x86_64__)
  static const int lanes = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
                               ? 8
                           : __builtin_cpu_supports("avx2") ? 4
                                                            : 2;
  return lanes;
#else
  return 2;
#endif
}

void normals_from_words(std::span<const std::uint64_t> words, std::span<double> normals) {
  normals_from_words(words, normals, widest_lanes());
}

void normals_from_words(std::span<const std::uint64_t> words, std::span<double> normals, int lanes) {
  check_input(words.size() == normals.size() && words.size() % 2 == 0, "normals: {} from {} words: must be equal and even", normals.size(),
              words.size());
  check_input((lanes == 2 || lanes == 4 || lanes == 8) && lanes <= widest_lanes(), "normals: {} lanes: must be 2, 4 or 8, at most {} here",
              lanes, widest_lanes());
  const std::size_t pairs = words.size() / 2;
#if defined(__x86_64__)
  if (lanes == 8) return eight_lanes(words.data(), normals.data(), pairs);
  if (lanes == 4) return four_lanes(words.data(), normals.data(), pairs);
#endif
  two_lanes(words.data(), normals.data(), pairs);
}

}  // namespace fodp
