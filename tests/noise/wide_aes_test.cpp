// AES-256 by wide instructions gives the bits of OpenSSL's.
#include "fodp/noise/wide_aes.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/evp.h>

namespace fodp {
namespace {

using Key = std::array<std::uint8_t, 32>;
using Counter = std::array<std::uint8_t, 16>;

std::vector<std::uint64_t> by_openssl(const Key& key, const Counter& counter, std::size_t words) {
  std::vector<std::uint8_t> zeros(8 * words, 0);
  std::vector<std::uint64_t> out(words);
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  int written = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nullptr, key.data(), counter.data()), 1);
  EXPECT_EQ(
      EVP_EncryptUpdate(context, reinterpret_cast<unsigned char*>(out.data()), &written, zeros.data(), static_cast<int>(zeros.size())), 1);
  EVP_CIPHER_CTX_free(context);
  return out;
}

TEST(WideAes, GivesTheBitsOfOpenSsl) {
  if (!WideAes::available()) GTEST_SKIP() << "this processor has no VAES";
  Key key;
  Counter counter{};
  std::uint32_t state = 1;
  const auto byte = [&] { return static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24); };
  for (const std::size_t words : {0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 100, 8192, 200001}) {  // 200,001 words count beyond two bytes
    for (std::uint8_t& b : key) b = byte();
    for (std::size_t i = 0; i < 12; ++i) counter[i] = byte();
    std::vector<std::uint64_t> out(words + 1, 99);
    WideAes(key).fill(counter, std::span(out).first(words));
    EXPECT_EQ(out.back(), 99u) << "written past the end";
    out.pop_back();
    EXPECT_EQ(out, by_openssl(key, counter, words)) << words << " words";
  }
}

// The block of 16 zero bytes under the key 00 01 .. 1f, by `openssl enc -aes-256-ecb`.
TEST(WideAes, EncryptsTheBlockOfZeros) {
  if (!WideAes::available()) GTEST_SKIP() << "this processor has no VAES";
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  std::uint64_t words[2];
  WideAes(key).fill({}, words);
  std::uint8_t bytes[16];
  std::memcpy(bytes, words, 16);
  const std::uint8_t expected[16] = {0xf2, 0x90, 0x00, 0xb6, 0x2a, 0x49, 0x9f, 0xd0, 0xa9, 0xf3, 0x9a, 0x6a, 0xdd, 0x2e, 0x77, 0x80};
  EXPECT_TRUE(std::equal(bytes, bytes + 16, expected));
}

}  // namespace
}  // namespace fodp
