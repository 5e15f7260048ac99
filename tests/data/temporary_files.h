// A folder for one test's files, the files of each format made by hand, and damage to them.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"

namespace fodp::testing {

using Bytes = std::vector<std::uint8_t>;

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline void write_bytes(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

inline Bytes read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fodp-data-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string sha256_text(const Bytes& bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.text();
}

// One gzip stream of these bytes.
inline Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Values that tell every position from its neighbours, whichever way they are ordered.
inline Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  std::mt19937 random(seed);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

inline Bytes big_endian(std::uint32_t value) {
  return {static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 8),
          static_cast<std::uint8_t>(value)};
}

inline Bytes idx_images(std::uint32_t count, const Bytes& pixels, std::uint32_t height = 28, std::uint32_t width = 28) {
  return big_endian(0x803) + big_endian(count) + big_endian(height) + big_endian(width) + pixels;
}

inline Bytes idx_labels(std::uint32_t count, const Bytes& labels) { return big_endian(0x801) + big_endian(count) + labels; }

// The message of the InputError that f throws; a failure of the test if it throws none.
inline std::string input_error(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no InputError";
  return "";
}

inline void expect_all_in(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
}

// 500 times: the file with a few bytes changed or its end cut off. `read` may succeed or throw InputError; anything else fails the test.
// Returns how many were refused.
inline int refused_when_damaged(const std::filesystem::path& path, const std::function<void()>& read) {
  const Bytes whole = read_bytes(path);
  std::mt19937 random(20);
  int refused = 0;
  for (int trial = 0; trial < 500; ++trial) {
    Bytes damaged = whole;
    // Half of the changes hit the first bytes, where headers are.
    std::size_t reach = trial % 2 ? whole.size() : std::min<std::size_t>(whole.size(), 256);
    for (unsigned change = 0; change < 1 + random() % 3; ++change)
      damaged[random() % reach] ^= static_cast<std::uint8_t>(1 + random() % 255);
    if (trial % 5 == 0) damaged.resize(random() % whole.size());
    write_bytes(path, damaged);
    try {
      read();
    } catch (const InputError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "trial " << trial << ": " << error.what();
    }
  }
  write_bytes(path, whole);
  return refused;
}

// Real files to test against, where this machine has them.
inline std::optional<std::filesystem::path> real_data_folder() {
  const char* given = std::getenv("FODP_DATA_DIR");
  std::filesystem::path folder = given ? std::filesystem::path(given) : std::filesystem::path(FODP_SOURCE_DIR) / "../shared/data";
  return std::filesystem::is_directory(folder) ? std::optional(folder) : std::nullopt;
}

}  // namespace fodp::testing
