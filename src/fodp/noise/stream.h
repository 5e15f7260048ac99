// Random bits that are safe by default: AES-256 in counter mode, keyed from the operating system.
//
// A stream is addressed by (run key, purpose, index, block). The purpose picks the AES key, which is derived from the run key by SHA-256.
// Index and block are the upper bits of the counter. No two addresses share a bit of the key stream, and any thread can draw any block in
// any order. The run key is never written anywhere and is wiped from memory.
//
// The same address gives the same bits again, so whoever numbers the indices of a purpose must be the only one who does: see claim().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace fodp {

enum class Purpose : std::uint8_t { noise = 1, sampling = 2, acceptance = 3, choice = 4 };

class RunKey {
 public:
  static RunKey from_system();                           // FaultError if the system gives no randomness
  static RunKey from_insecure_seed(std::uint64_t seed);  // repeatable: not private
  RunKey(RunKey&& other) noexcept;
  RunKey& operator=(RunKey&&) = delete;
  RunKey(const RunKey&) = delete;
  RunKey& operator=(const RunKey&) = delete;
  ~RunKey();

 private:
  friend class RandomStream;
  RunKey() = default;

  using Owners = std::array<std::atomic<std::uint64_t>, 5>;  // by purpose; 0 where nobody has claimed it

  std::array<std::uint8_t, 32> bytes_{};
  std::shared_ptr<Owners> owners_ = std::make_shared<Owners>();  // shared with all streams that are made from this key
};

// The random bits of one purpose. It is safe to use from several threads at once.
class RandomStream {
 public:
  RandomStream(const RunKey& key, Purpose purpose);
  RandomStream(RandomStream&&) noexcept;
  RandomStream& operator=(RandomStream&&) = delete;
  ~RandomStream();

  // Fills `out` with the first words of the stream at (index, block). They are the same however often and from wherever they are asked for.
  // InputError for more than 2^33 words of one block.
  void fill(std::uint64_t index, std::uint32_t block, std::span<std::uint64_t> out) const;

  Purpose purpose() const { return purpose_; }

  // Whether the bits of this key and purpose are `owner`'s, which is a number of base/unique_id.h. They become those of the first owner
  // who asks, for all streams that were made from the same RunKey, and stay so. Two ledgers, or two samplers, that number from 0 would
  // otherwise use the same bits.
  bool claim(std::uint64_t owner) const;

 private:
  struct Key;
  std::unique_ptr<Key> key_;
  Purpose purpose_;
};

}  // namespace fodp
