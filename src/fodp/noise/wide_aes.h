// AES-256 in counter mode for processors that encrypt four blocks by one instruction (VAES with AVX-512). OpenSSL 3.0 does not use these
// instructions for counter mode, and takes twice the time. The bits are the same.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace fodp {

class WideAes {
 public:
  static bool available();

  explicit WideAes(std::span<const std::uint8_t, 32> key);  // only where it is available
  WideAes(const WideAes&) = delete;
  WideAes& operator=(const WideAes&) = delete;
  ~WideAes();  // wipes the keys

  // Fills `out` with the encryptions of counter, counter + 1, ... The last four bytes of `counter`, a big-endian number, must be 0; they
  // count at most 2^32 blocks of two words each.
  void fill(const std::array<std::uint8_t, 16>& counter, std::span<std::uint64_t> out) const;

 private:
  static constexpr std::size_t kRounds = 14;
  std::array<std::array<std::uint8_t, 16>, kRounds + 1> round_keys_;
};

}  // namespace fodp
