#include "fodp/noise/wide_aes.h"

#include <algorithm>
#include <cstring>

#include <openssl/crypto.h>

#include "fodp/base/check.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define FODP_WITH_AES __attribute__((target("aes,sse2")))
#define FODP_WITH_VAES __attribute__((target("vaes,avx512f,avx512bw")))
#endif

namespace fodp {

#if defined(__x86_64__)

namespace {

// A step of the key schedule (FIPS 197, section 5.2): each of the four words of a round key is the word before it, xored with the same word
// two round keys earlier; `first` is what stands for the word before the first one.
FODP_WITH_AES inline __m128i next_key(__m128i two_before, __m128i first) {
  __m128i sums = _mm_xor_si128(two_before, _mm_slli_si128(two_before, 4));
  sums = _mm_xor_si128(sums, _mm_slli_si128(sums, 8));
  return _mm_xor_si128(sums, first);
}

// The last word of the key before, rotated, substituted and xored with a constant, in every word.
template <int constant>
FODP_WITH_AES inline __m128i rotated(__m128i before) {
  return _mm_shuffle_epi32(_mm_aeskeygenassist_si128(before, constant), 0xff);
}

// The last word of the key before, substituted, in every word.
FODP_WITH_AES inline __m128i substituted(__m128i before) { return _mm_shuffle_epi32(_mm_aeskeygenassist_si128(before, 0), 0xaa); }

FODP_WITH_AES void expand(const std::uint8_t* key, __m128i (&keys)[15]) {
  keys[0] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key));
  keys[1] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key + 16));
  keys[2] = next_key(keys[0], rotated<1>(keys[1]));
  keys[3] = next_key(keys[1], substituted(keys[2]));
  keys[4] = next_key(keys[2], rotated<2>(keys[3]));
  keys[5] = next_key(keys[3], substituted(keys[4]));
  keys[6] = next_key(keys[4], rotated<4>(keys[5]));
  keys[7] = next_key(keys[5], substituted(keys[6]));
  keys[8] = next_key(keys[6], rotated<8>(keys[7]));
  keys[9] = next_key(keys[7], substituted(keys[8]));
  keys[10] = next_key(keys[8], rotated<16>(keys[9]));
  keys[11] = next_key(keys[9], substituted(keys[10]));
  keys[12] = next_key(keys[10], rotated<32>(keys[11]));
  keys[13] = next_key(keys[11], substituted(keys[12]));
  keys[14] = next_key(keys[12], rotated<64>(keys[13]));
}

// GCC 12 warns of its own AVX-512 functions, which leave a register that they overwrite as it was.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// Whole vectors of four blocks, four of them side by side where there are as many, since an instruction's result is ready some cycles
// after it began. The rest of a vector behind the last word is thrown away.
FODP_WITH_VAES void encrypt(const __m128i* round_keys, const std::uint8_t* first, std::uint64_t* out, std::size_t words) {
  constexpr std::size_t kVector = 8, kTogether = 4;
  __m512i keys[15];
  for (int round = 0; round < 15; ++round) keys[round] = _mm512_broadcast_i32x4(_mm_loadu_si128(round_keys + round));
  const __m512i head = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)));
  // Moves the number in the first bytes of a block to its last four, the most significant byte first.
  const __m512i place = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  __m512i count = _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0);
  const __m512i four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
  for (std::size_t i = 0; i < words; i += kTogether * kVector) {
    __m512i blocks[kTogether];
    for (__m512i& block : blocks) {
      block = _mm512_xor_si512(_mm512_xor_si512(head, _mm512_shuffle_epi8(count, place)), keys[0]);
      count = _mm512_add_epi64(count, four);
    }
    for (int round = 1; round < 14; ++round)
      for (__m512i& block : blocks) block = _mm512_aesenc_epi128(block, keys[round]);
    for (__m512i& block : blocks) block = _mm512_aesenclast_epi128(block, keys[14]);
    std::memcpy(out + i, blocks, sizeof(std::uint64_t) * std::min(kTogether * kVector, words - i));
  }
}
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace

// Clang 14 cannot be asked for VAES by name: it is a bit of the processor's leaf 7. That AVX-512 is there says that the system lets it be
// used.
bool WideAes::available() {
  static const bool has = [] {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    const bool vaes = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & (1u << 9)) != 0;
    return vaes && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("aes");
  }();
  return has;
}

WideAes::WideAes(std::span<const std::uint8_t, 32> key) {
  check_fault(available(), "this processor does not encrypt four blocks at once");
  __m128i keys[kRounds + 1];
  expand(key.data(), keys);
  std::memcpy(round_keys_.data(), keys, sizeof keys);
  OPENSSL_cleanse(keys, sizeof keys);
}

void WideAes::fill(const std::array<std::uint8_t, 16>& counter, std::span<std::uint64_t> out) const {
  encrypt(reinterpret_cast<const __m128i*>(round_keys_.data()), counter.data(), out.data(), out.size());
}

#else

bool WideAes::available() { return false; }
WideAes::WideAes(std::span<const std::uint8_t, 32>) { check_fault(false, "this processor does not encrypt four blocks at once"); }
void WideAes::fill(const std::array<std::uint8_t, 16>&, std::span<std::uint64_t>) const {}

#endif

WideAes::~WideAes() { OPENSSL_cleanse(round_keys_.data(), sizeof round_keys_); }

}  // namespace fodp
