#include "fodp/base/sha256.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/ranges.h>
#include <openssl/evp.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

void check_done(bool done) { check_fault(done, "SHA-256 failed in OpenSSL"); }

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) { check_done(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1); }

Sha256& Sha256::add(const void* data, std::size_t size) {
  check_done(EVP_DigestUpdate(context_.get(), data, size) == 1);
  return *this;
}

Sha256::Digest Sha256::digest() {
  Digest digest;
  check_done(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
  return digest;
}

std::string Sha256::text() { return fmt::format("{:02x}", fmt::join(digest(), "")); }

std::string sha256_text(std::string_view bytes) { return Sha256().add(bytes).text(); }

std::string sha256_file(const std::filesystem::path& file) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(file, error);  // reading a pipe would wait for its writer
  check_input(!error, "{}: cannot be read: {}", file.string(), error.message());
  check_input(regular, "{}: not a regular file", file.string());
  std::ifstream stream(file, std::ios::binary);
  check_input(stream.is_open(), "{}: cannot be read: {}", file.string(), std::strerror(errno));
  Sha256 hash;
  std::array<char, 1 << 16> piece;
  while (stream) {
    stream.read(piece.data(), piece.size());
    hash.add(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  check_fault(stream.eof() && !stream.bad(), "{}: reading failed: {}", file.string(), std::strerror(errno));
  return hash.text();
}

}  // namespace fodp
