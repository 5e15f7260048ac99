// SHA-256 (FIPS 180-4), computed by OpenSSL. Texts are 64 lower-case hexadecimal digits, as sha256sum prints them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace fodp {

// A hash of bytes that come in pieces: only the bytes count, not how they were divided.
class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256();  // FaultError, here and below, if OpenSSL fails

  // Takes a string, a view, an array or a span of bytes.
  template <class Bytes>
  Sha256& add(const Bytes& bytes) {
    static_assert(sizeof(*bytes.data()) == 1);
    return add(bytes.data(), bytes.size());
  }

  Sha256& add(const void* data, std::size_t size);

  // Ends the hash: nothing can be added after either.
  Digest digest();
  std::string text();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string sha256_text(std::string_view bytes);

// Reads the file piece by piece. InputError if it is not a file that can be read, FaultError if reading fails on the way.
std::string sha256_file(const std::filesystem::path& file);

}  // namespace fodp
