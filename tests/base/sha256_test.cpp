#include "fodp/base/sha256.h"

#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;

// FIPS 180-4's own examples (NIST, "SHA256.pdf" and the million a's of FIPS 180-2).
constexpr const char* empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* two_blocks = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
constexpr const char* million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, KnownVectors) {
  EXPECT_EQ(sha256_text(""), empty);
  EXPECT_EQ(sha256_text("abc"), abc);
  EXPECT_EQ(sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), two_blocks);
  EXPECT_EQ(sha256_text(std::string(1'000'000, 'a')), million);
}

TEST(Sha256, PiecesCountAsOneText) {
  const std::array<std::uint8_t, 1> b{'b'};
  EXPECT_EQ(Sha256().add(std::string_view("a")).add(b).add(std::string("c")).add(std::string_view()).text(), abc);
  EXPECT_EQ(Sha256().add(std::string_view("abc")).digest()[0], 0xba);
}

TEST(Sha256, FilesOfEverySize) {
  const fs::path folder = fs::temp_directory_path() / ("fodp_sha256_" + std::to_string(::getpid())), file = folder / "bytes";
  fs::create_directories(folder);
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 1'000'000}) {
    const std::string bytes(size, 'a');
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_EQ(sha256_file(file), sha256_text(bytes)) << size;
  }
  EXPECT_EQ(sha256_file(file), million);
  EXPECT_THROW(sha256_file(folder), InputError);
  EXPECT_THROW(sha256_file(folder / "none"), InputError);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace fodp
