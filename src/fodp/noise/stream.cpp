#include "fodp/noise/stream.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/noise/wide_aes.h"

namespace fodp {

namespace {

template <std::size_t size>
void put_big_endian(std::uint64_t value, std::uint8_t* out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * (size - 1 - i)));
}

}  // namespace

RunKey RunKey::from_system() {
  RunKey key;
  check_fault(getentropy(key.bytes_.data(), key.bytes_.size()) == 0, "the operating system gave no randomness: {}", std::strerror(errno));
  return key;
}

RunKey RunKey::from_insecure_seed(std::uint64_t seed) {
  std::array<std::uint8_t, 8> seed_bytes;
  put_big_endian<8>(seed, seed_bytes.data());
  RunKey key;
  key.bytes_ = Sha256().add(std::string_view("fodp insecure run key 1")).add(seed_bytes).digest();
  return key;
}

RunKey::RunKey(RunKey&& other) noexcept : bytes_(other.bytes_), owners_(std::move(other.owners_)) {
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
}

RunKey::~RunKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

// A cipher context that knows the key but no counter. It is only copied, never used, so that threads may share it. A copy saves the key
// schedule and OpenSSL's search for the cipher. Freeing a context wipes its key schedule.
struct RandomStream::Key {
  EVP_CIPHER_CTX* prepared = EVP_CIPHER_CTX_new();
  std::optional<WideAes> wide;                        // does the same faster, where the processor can
  std::shared_ptr<std::atomic<std::uint64_t>> owner;  // of the purpose, in what all streams of the run key share

  Key() = default;
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() { EVP_CIPHER_CTX_free(prepared); }
};

RandomStream::RandomStream(const RunKey& key, Purpose purpose) : key_(std::make_unique<Key>()), purpose_(purpose) {
  // A key that was moved from is all zeros, and anyone could repeat its bits.
  const bool wiped = std::all_of(key.bytes_.begin(), key.bytes_.end(), [](std::uint8_t byte) { return byte == 0; });
  check_privacy(!wiped, "random stream: its run key was moved from and is empty; make the stream from the key that holds it");
  const std::array<std::uint8_t, 1> purpose_byte{static_cast<std::uint8_t>(purpose)};
  Sha256::Digest purpose_key = Sha256().add(key.bytes_).add(std::string_view("fodp stream key 1")).add(purpose_byte).digest();
  const bool done = key_->prepared && EVP_EncryptInit_ex(key_->prepared, EVP_aes_256_ctr(), nullptr, purpose_key.data(), nullptr) == 1;
  if (WideAes::available()) key_->wide.emplace(purpose_key);
  OPENSSL_cleanse(purpose_key.data(), purpose_key.size());
  check_fault(done, "AES-256-CTR is not available in OpenSSL");
  key_->owner = {key.owners_, &key.owners_->at(static_cast<std::size_t>(purpose))};
}

RandomStream::RandomStream(RandomStream&&) noexcept = default;
RandomStream::~RandomStream() = default;

bool RandomStream::claim(std::uint64_t owner) const {
  check_privacy(key_ != nullptr, "random stream: used after it was moved from");
  std::uint64_t present = 0;
  return key_->owner->compare_exchange_strong(present, owner) || present == owner;
}

void RandomStream::fill(std::uint64_t index, std::uint32_t block, std::span<std::uint64_t> out) const {
  // A block has 2^32 counter values of two words each. One word more would repeat bits of the next block.
  constexpr std::size_t kMostWords = std::size_t{1} << 33;
  check_input(out.size() <= kMostWords, "random stream: {} words asked of one block: at most 2^33", out.size());
  check_privacy(key_ != nullptr, "random stream: used after it was moved from");

  std::array<std::uint8_t, 16> counter{};
  put_big_endian<8>(index, counter.data());
  put_big_endian<4>(block, counter.data() + 8);
  if (key_->wide) return key_->wide->fill(counter, out);
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  bool done = context && EVP_CIPHER_CTX_copy(context.get(), key_->prepared) == 1 &&
              EVP_EncryptInit_ex(context.get(), nullptr, nullptr, nullptr, counter.data()) == 1;

  // The key stream is the encryption of zeros.
  static constexpr std::array<std::uint8_t, 8192> kZeros{};
  constexpr std::size_t kPieceWords = kZeros.size() / 8;
  for (std::size_t start = 0; done && start < out.size(); start += kPieceWords) {
    const std::span<std::uint64_t> piece = out.subspan(start, std::min(kPieceWords, out.size() - start));
    const int bytes = static_cast<int>(piece.size_bytes());
    int written = 0;
    done = EVP_EncryptUpdate(context.get(), reinterpret_cast<unsigned char*>(piece.data()), &written, kZeros.data(), bytes) == 1 &&
           written == bytes;
    if constexpr (std::endian::native == std::endian::big)
      for (std::uint64_t& word : piece) word = __builtin_bswap64(word);
  }
  check_fault(done, "AES-256-CTR failed in OpenSSL");
}

}  // namespace fodp
