// Seeds are fixed, so every case is deterministic; "false alarm" is the chance that a correct generator fails with another seed.
#include "fodp/noise/stream.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

Bytes aes256_block(const Bytes& key, const Bytes& block) {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  Bytes out(32);
  int written = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nullptr, key.data(), nullptr), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context, out.data(), &written, block.data(), 16), 1);
  EVP_CIPHER_CTX_free(context);
  out.resize(16);
  return out;
}

Bytes sha256(const Bytes& message) {
  Bytes digest(32);
  EXPECT_EQ(EVP_Digest(message.data(), message.size(), digest.data(), nullptr, EVP_sha256(), nullptr), 1);
  return digest;
}

void append(Bytes& to, const std::string& text) { to.insert(to.end(), text.begin(), text.end()); }

void append_big_endian(Bytes& to, std::uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

// Word `word` of the stream at an address, from the construction's description and nothing else.
std::uint64_t expected_word(std::uint64_t seed, Purpose purpose, std::uint64_t index, std::uint32_t block, std::uint64_t word) {
  Bytes message;
  append(message, "fodp insecure run key 1");
  append_big_endian(message, seed, 8);
  message = sha256(message);
  append(message, "fodp stream key 1");
  message.push_back(static_cast<std::uint8_t>(purpose));
  Bytes counter;
  append_big_endian(counter, index, 8);
  append_big_endian(counter, block, 4);
  append_big_endian(counter, word / 2, 4);
  const Bytes bits = aes256_block(sha256(message), counter);
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | bits[word % 2 * 8 + i];
  return value;
}

std::vector<std::uint64_t> words_at(const RandomStream& stream, std::uint64_t index, std::uint32_t block, std::size_t size = 8192) {
  std::vector<std::uint64_t> words(size);
  stream.fill(index, block, words);
  return words;
}

RandomStream seeded(std::uint64_t seed, Purpose purpose = Purpose::noise) {
  return RandomStream(RunKey::from_insecure_seed(seed), purpose);
}

// Standard deviations between the number of equal bits and one half: about N(0, 1) for independent bits.
double agreement(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  double equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += std::popcount(~(a[i] ^ b[i]));
  const double bits = 64. * static_cast<double>(a.size());
  return (equal - bits / 2) / std::sqrt(bits / 4);
}

// SP 800-38A, F.5.5: the vector that the block function of the next case is checked with.
TEST(RandomStream, BlockFunctionMatchesTheNistVector) {
  const Bytes key = from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
  EXPECT_EQ(aes256_block(key, from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")), from_hex("0bdf7df1591716335e9a8b15c860c502"));
}

TEST(RandomStream, WordsAreAesOfTheAddress) {
  for (const Purpose purpose : {Purpose::noise, Purpose::sampling, Purpose::acceptance})
    for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x0123456789abcdef}, ~std::uint64_t{0}})
      for (const std::uint32_t block : {0u, 1u, 0x89abcdefu, ~0u}) {
        const auto words = words_at(seeded(7, purpose), index, block, 5001);
        for (const std::uint64_t word : {0, 1, 2, 3, 1023, 1024, 2047, 2048, 4999, 5000})
          ASSERT_EQ(words[word], expected_word(7, purpose, index, block, word)) << index << ' ' << block << ' ' << word;
      }
}

TEST(RandomStream, ShorterFillIsAPrefix) {
  const RandomStream stream = seeded(1);
  const auto all = words_at(stream, 5, 6);
  for (const std::size_t size : {0, 1, 2, 3, 1023, 1024, 1025, 8191}) {
    const auto some = words_at(stream, 5, 6, size);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << size;
  }
}

TEST(RandomStream, SameBitsFromSeveralThreadsAtOnce) {
  const RandomStream stream = seeded(2);
  std::vector<std::vector<std::uint64_t>> expected;
  for (std::uint32_t block = 0; block < 16; ++block) expected.push_back(words_at(stream, 3, block, 2000));
  std::vector<int> wrong(4, 0);
  std::latch together(4);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      together.arrive_and_wait();
      for (std::uint32_t i = 0; i < 4000; ++i) {
        const std::uint32_t block = (i * 5 + static_cast<std::uint32_t>(thread)) % 16;
        wrong[thread] += words_at(stream, 3, block, 2000) != expected[block];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

// Each comparison is of 2^19 bits, refused beyond 5 standard deviations: false alarm 5.7e-7 each, 4.5e-5 for all 78. Bits that agree in 51%
// of places would stand at 14.
TEST(RandomStream, DifferentAddressesGiveIndependentBits) {
  std::vector<std::vector<std::uint64_t>> streams;
  for (const Purpose purpose : {Purpose::noise, Purpose::sampling, Purpose::acceptance})
    streams.push_back(words_at(seeded(3, purpose), 9, 4));
  for (const std::uint64_t index : {std::uint64_t{8}, std::uint64_t{10}, std::uint64_t{9} << 32, std::uint64_t{1} << 63})
    streams.push_back(words_at(seeded(3), index, 4));
  for (const std::uint32_t block : {3u, 5u, 4u << 16, 1u << 31}) streams.push_back(words_at(seeded(3), 9, block));
  for (const std::uint64_t seed : {2, 4}) streams.push_back(words_at(seeded(seed), 9, 4));
  for (std::size_t a = 0; a < streams.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_LT(std::abs(agreement(streams[a], streams[b])), 5) << a << ' ' << b;
  EXPECT_GT(agreement(streams[0], words_at(seeded(3), 9, 4)), 700);
}

// 122,880 words of neighbouring addresses: false alarm 4e-10. Overlapping counters would share words.
TEST(RandomStream, NeighbouringAddressesShareNoWord) {
  const RandomStream stream = seeded(4);
  std::vector<std::uint64_t> all;
  for (std::uint64_t index = 0; index < 5; ++index)
    for (std::uint32_t block = 0; block < 3; ++block) {
      const auto words = words_at(stream, index, block);
      all.insert(all.end(), words.begin(), words.end());
    }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

// 64 counts of 2^17 bits, each within 5 standard deviations: false alarm 3.7e-5. A bit that is one in 51% of words would stand at 7.
TEST(RandomStream, EveryBitOfAWordIsBalanced) {
  const auto words = words_at(seeded(5), 0, 0, 1 << 17);
  for (int bit = 0; bit < 64; ++bit) {
    const auto ones = std::count_if(words.begin(), words.end(), [bit](std::uint64_t word) { return word >> bit & 1; });
    EXPECT_LT(std::abs(static_cast<double>(ones) - 65536) / std::sqrt(32768.), 5) << bit;
  }
}

TEST(RandomStream, RefusesMoreThanABlockHolds) {
  std::uint64_t word = 0;
  EXPECT_THROW(seeded(6).fill(0, 0, std::span(&word, (std::size_t{1} << 33) + 1)), InputError);
}

TEST(RandomStream, RefusesToWorkAfterAMove) {
  RandomStream stream = seeded(6);
  const auto before = words_at(stream, 1, 2);
  const RandomStream moved = std::move(stream);
  EXPECT_EQ(words_at(moved, 1, 2), before);
  EXPECT_THROW(words_at(stream, 1, 2), PrivacyError);
}

// They are the same by chance once in 2^256.
TEST(RunKey, TwoSystemKeysDiffer) {
  const RunKey first = RunKey::from_system(), second = RunKey::from_system();
  EXPECT_NE(words_at(RandomStream(first, Purpose::noise), 0, 0, 4), words_at(RandomStream(second, Purpose::noise), 0, 0, 4));
}

TEST(RunKey, SeedIsRepeatable) {
  EXPECT_EQ(words_at(seeded(1), 0, 0), words_at(seeded(1), 0, 0));
  EXPECT_NE(words_at(seeded(1), 0, 0), words_at(seeded(2), 0, 0));
}

TEST(RunKey, MovesAndLeavesNothingToUse) {
  RunKey key = RunKey::from_insecure_seed(8);
  const RunKey moved = std::move(key);
  EXPECT_EQ(words_at(RandomStream(moved, Purpose::noise), 0, 0), words_at(seeded(8), 0, 0));
  EXPECT_THROW(RandomStream(key, Purpose::noise), PrivacyError);
}

TEST(RunKey, IsClaimedByOneOwnerForEachPurpose) {
  RunKey key = RunKey::from_insecure_seed(8);
  const RandomStream noise(key, Purpose::noise), sampling(key, Purpose::sampling), same_seed = seeded(8);
  EXPECT_TRUE(noise.claim(1));
  const RunKey moved = std::move(key);
  const RandomStream again(moved, Purpose::noise);
  for (const RandomStream* stream : {&noise, &again}) {
    EXPECT_TRUE(stream->claim(1));
    EXPECT_FALSE(stream->claim(2));
  }
  EXPECT_TRUE(sampling.claim(2));
  EXPECT_TRUE(same_seed.claim(2)) << "a seed can be used again on purpose: such runs are not private";
}

TEST(RunKey, IsClaimedOnceByThreadsThatRace) {
  for (int round = 0; round < 200; ++round) {
    const RandomStream stream = seeded(8);
    std::atomic<int> owners = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t owner = 1; owner <= 4; ++owner) threads.emplace_back([&, owner] { owners += stream.claim(owner); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(owners, 1);
  }
}

TEST(RunKey, IsWipedFromMemory) {
  alignas(RunKey) unsigned char storage[sizeof(RunKey)];
  const auto nonzero = [&] { return std::count_if(storage, storage + 32, [](unsigned char byte) { return byte != 0; }); };
  RunKey* key = new (storage) RunKey(RunKey::from_insecure_seed(9));
  EXPECT_GT(nonzero(), 20);
  key->~RunKey();
  EXPECT_EQ(nonzero(), 0);
}

}  // namespace
}  // namespace fodp
