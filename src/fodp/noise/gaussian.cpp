#include "fodp/noise/gaussian.h"

#include <bit>
#include <cfloat>
#include <cmath>

#include <sleef.h>

#include "fodp/base/check.h"

// Every vector width gives the same bits, because SLEEF's `cinz` functions do and because sqrt, products and conversions are correctly
// rounded. Where the compiler may not use AVX on its own, sleef.h hides the AVX functions; they are declared here and picked at run time.
#if defined(__x86_64__)
#include <immintrin.h>
#define FODP_AVX __attribute__((target("avx")))
#define FODP_AVX512 __attribute__((target("avx512f,avx512dq")))
#if !defined(__AVX512F__)
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are SLEEF's
struct Sleef___m512d_2 {
  __m512d x, y;
};
extern "C" FODP_AVX512 __m512d Sleef_cinz_logd8_u10avx512fnofma(__m512d);
extern "C" FODP_AVX512 Sleef___m512d_2 Sleef_cinz_sincospid8_u05avx512fnofma(__m512d);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
#endif
#if !defined(__AVX__)
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are SLEEF's
struct Sleef___m256d_2 {
  __m256d x, y;
};
extern "C" FODP_AVX __m256d Sleef_cinz_logd4_u10avx(__m256d);
extern "C" FODP_AVX Sleef___m256d_2 Sleef_cinz_sincospid4_u05avx(__m256d);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
#endif
#endif

static_assert(FLT_EVAL_METHOD == 0, "double must be computed as double");
#if defined(__FAST_MATH__)
#error "noise must not be compiled with -ffast-math"
#endif

namespace fodp {

namespace {

// The second word of a pair holds 53 bits of the angle and 11 bits of the uniform that makes the radius, which follow the 64 bits of the
// first word.
constexpr std::uint64_t kAngleBits = ~std::uint64_t{0x7ff}, kFineBits = 0x7ff;
// These three turn a 64-bit word into a double with one rounding. The lower half of the word, put into the last bits of 2^52, and its upper
// half, put into the last bits of 2^84, are exact doubles. Their sum less 2^52 + 2^84 is the word.
constexpr double kLowBase = 0x1p52, kHighBase = 0x1p84, kBoth = 0x1p84 + 0x1p52;
// Subtracted from a small integer that was put into the last bits of 2^52, this leaves the integer plus a half.
constexpr double kLowBaseLessHalf = 0x1p52 - .5;

// Makes normals[i] and normals[i + 1] of words[i] and words[i + 1] for every second i from `begin` to `end`, one pair at a time.
void one_lane(const std::uint64_t* words, double* normals, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i += 2) {
    const double fine = (static_cast<double>(words[i + 1] & kFineBits) + .5) * 0x1p-11;
    const double uniform = (static_cast<double>(words[i]) + fine) * 0x1p-64;
    const double half_turns = static_cast<double>(words[i + 1] & kAngleBits) * 0x1p-63;
    const double radius = std::sqrt(-2 * Sleef_cinz_logd1_u10purec(uniform));
    const auto [sine, cosine] = Sleef_cinz_sincospid1_u05purec(half_turns);
    normals[i] = radius * cosine;
    normals[i + 1] = radius * sine;
  }
}

#if defined(__x86_64__)

inline __m128i all(std::uint64_t word) { return _mm_set1_epi64x(static_cast<long long>(word)); }

inline __m128d to_double(__m128i word) {
  const __m128i low = _mm_or_si128(_mm_and_si128(word, all(0xffffffff)), _mm_castpd_si128(_mm_set1_pd(kLowBase)));
  const __m128i high = _mm_or_si128(_mm_srli_epi64(word, 32), _mm_castpd_si128(_mm_set1_pd(kHighBase)));
  return _mm_add_pd(_mm_sub_pd(_mm_castsi128_pd(high), _mm_set1_pd(kBoth)), _mm_castsi128_pd(low));
}

void two_lanes(const std::uint64_t* words, double* normals, std::size_t size) {
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + i));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + i + 2));
    const __m128i radius_words = _mm_unpacklo_epi64(first, second), angle_words = _mm_unpackhi_epi64(first, second);
    const __m128i fine_bits = _mm_or_si128(_mm_and_si128(angle_words, all(kFineBits)), _mm_castpd_si128(_mm_set1_pd(kLowBase)));
    const __m128d fine = _mm_mul_pd(_mm_sub_pd(_mm_castsi128_pd(fine_bits), _mm_set1_pd(kLowBaseLessHalf)), _mm_set1_pd(0x1p-11));
    const __m128d uniform = _mm_mul_pd(_mm_add_pd(to_double(radius_words), fine), _mm_set1_pd(0x1p-64));
    const __m128d half_turns = _mm_mul_pd(to_double(_mm_and_si128(angle_words, all(kAngleBits))), _mm_set1_pd(0x1p-63));
    const __m128d radius = _mm_sqrt_pd(_mm_mul_pd(_mm_set1_pd(-2), Sleef_cinz_logd2_u10sse2(uniform)));
    const auto [sine, cosine] = Sleef_cinz_sincospid2_u05sse2(half_turns);
    const __m128d x = _mm_mul_pd(radius, cosine), y = _mm_mul_pd(radius, sine);
    _mm_storeu_pd(normals + i, _mm_unpacklo_pd(x, y));
    _mm_storeu_pd(normals + i + 2, _mm_unpackhi_pd(x, y));
  }
  one_lane(words, normals, i, size);
}

// AVX has no integer arithmetic of this width, so the halves of words are moved as floats.
FODP_AVX inline __m256d to_double(__m256d word) {
  const __m256 halves = _mm256_castpd_ps(word);
  const __m256 low = _mm256_blend_ps(halves, _mm256_castpd_ps(_mm256_set1_pd(kLowBase)), 0xaa);
  const __m256 high = _mm256_blend_ps(_mm256_movehdup_ps(halves), _mm256_castpd_ps(_mm256_set1_pd(kHighBase)), 0xaa);
  return _mm256_add_pd(_mm256_sub_pd(_mm256_castps_pd(high), _mm256_set1_pd(kBoth)), _mm256_castps_pd(low));
}

FODP_AVX void four_lanes(const std::uint64_t* words, double* normals, std::size_t size) {
  const __m256d angle_bits = _mm256_set1_pd(std::bit_cast<double>(kAngleBits)),
                fine_bits = _mm256_set1_pd(std::bit_cast<double>(kFineBits));
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    const __m256d first = _mm256_castsi256_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i)));
    const __m256d second = _mm256_castsi256_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i + 4)));
    const __m256d radius_words = _mm256_unpacklo_pd(first, second), angle_words = _mm256_unpackhi_pd(first, second);
    const __m256d fine_word = _mm256_or_pd(_mm256_and_pd(angle_words, fine_bits), _mm256_set1_pd(kLowBase));
    const __m256d fine = _mm256_mul_pd(_mm256_sub_pd(fine_word, _mm256_set1_pd(kLowBaseLessHalf)), _mm256_set1_pd(0x1p-11));
    const __m256d uniform = _mm256_mul_pd(_mm256_add_pd(to_double(radius_words), fine), _mm256_set1_pd(0x1p-64));
    const __m256d half_turns = _mm256_mul_pd(to_double(_mm256_and_pd(angle_words, angle_bits)), _mm256_set1_pd(0x1p-63));
    const __m256d radius = _mm256_sqrt_pd(_mm256_mul_pd(_mm256_set1_pd(-2), Sleef_cinz_logd4_u10avx(uniform)));
    const auto [sine, cosine] = Sleef_cinz_sincospid4_u05avx(half_turns);
    const __m256d x = _mm256_mul_pd(radius, cosine), y = _mm256_mul_pd(radius, sine);
    _mm256_storeu_pd(normals + i, _mm256_unpacklo_pd(x, y));
    _mm256_storeu_pd(normals + i + 4, _mm256_unpackhi_pd(x, y));
  }
  one_lane(words, normals, i, size);
}

// GCC 12 warns of its own AVX-512 functions, which leave a register that they overwrite as it was.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
FODP_AVX512 void eight_lanes(const std::uint64_t* words, double* normals, std::size_t size) {
  const __m512i angle_bits = _mm512_set1_epi64(static_cast<long long>(kAngleBits)),
                fine_bits = _mm512_set1_epi64(static_cast<long long>(kFineBits));
  const __m512d half = _mm512_set1_pd(.5);
  std::size_t i = 0;
  for (; i + 16 <= size; i += 16) {
    const __m512i first = _mm512_loadu_si512(words + i), second = _mm512_loadu_si512(words + i + 8);
    const __m512i radius_words = _mm512_unpacklo_epi64(first, second), angle_words = _mm512_unpackhi_epi64(first, second);
    const __m512d fine =
        _mm512_mul_pd(_mm512_add_pd(_mm512_cvtepu64_pd(_mm512_and_si512(angle_words, fine_bits)), half), _mm512_set1_pd(0x1p-11));
    const __m512d uniform = _mm512_mul_pd(_mm512_add_pd(_mm512_cvtepu64_pd(radius_words), fine), _mm512_set1_pd(0x1p-64));
    const __m512d half_turns = _mm512_mul_pd(_mm512_cvtepu64_pd(_mm512_and_si512(angle_words, angle_bits)), _mm512_set1_pd(0x1p-63));
    const __m512d radius = _mm512_sqrt_pd(_mm512_mul_pd(_mm512_set1_pd(-2), Sleef_cinz_logd8_u10avx512fnofma(uniform)));
    const auto [sine, cosine] = Sleef_cinz_sincospid8_u05avx512fnofma(half_turns);
    const __m512d x = _mm512_mul_pd(radius, cosine), y = _mm512_mul_pd(radius, sine);
    _mm512_storeu_pd(normals + i, _mm512_unpacklo_pd(x, y));
    _mm512_storeu_pd(normals + i + 8, _mm512_unpackhi_pd(x, y));
  }
  one_lane(words, normals, i, size);
}

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif

}  // namespace

int widest_lanes() {
#if defined(__x86_64__)
  static const int lanes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? 8
                           : __builtin_cpu_supports("avx")                                         ? 4
                                                                                                   : 2;
  return lanes;
#else
  return 1;
#endif
}

void normals_from_words(std::span<const std::uint64_t> words, std::span<double> normals) {
  normals_from_words(words, normals, widest_lanes());
}

void normals_from_words(std::span<const std::uint64_t> words, std::span<double> normals, int lanes) {
  check_input(words.size() == normals.size() && words.size() % 2 == 0, "normals: {} from {} words: must be equal and even", normals.size(),
              words.size());
  check_input((lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8) && lanes <= widest_lanes(),
              "normals: {} lanes: must be 1, 2, 4 or 8, at most {} here", lanes, widest_lanes());
#if defined(__x86_64__)
  if (lanes == 8) return eight_lanes(words.data(), normals.data(), words.size());
  if (lanes == 4) return four_lanes(words.data(), normals.data(), words.size());
  if (lanes == 2) return two_lanes(words.data(), normals.data(), words.size());
#endif
  one_lane(words.data(), normals.data(), 0, words.size());
}

}  // namespace fodp
