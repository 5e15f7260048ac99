// .npy files by hand, and zip archives written by libzip.
#pragma once

#include <zip.h>

#include <string>
#include <utility>
#include <vector>

#include "data/temporary_files.h"

namespace fodp::testing {

inline Bytes npy_with_header(std::string header, const Bytes& data) {
  header.append(63 - (header.size() + 10) % 64, ' ').push_back('\n');
  Bytes start = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<std::uint8_t>(header.size() & 255), static_cast<std::uint8_t>(header.size() >> 8)};
  return start + Bytes(header.begin(), header.end()) + data;
}

inline Bytes npy_of(const std::string& type, const std::string& shape, const Bytes& data, const std::string& fortran = "False") {
  return npy_with_header("{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }", data);
}

template <class Number>
Bytes npy_of(const std::string& type, const std::string& shape, const std::vector<Number>& numbers) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(numbers.data());
  return npy_of(type, shape, Bytes(first, first + numbers.size() * sizeof(Number)));
}

inline void write_zip(const std::filesystem::path& path, const std::vector<std::pair<std::string, Bytes>>& files, bool packed) {
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive) throw std::runtime_error("cannot write " + path.string());
  for (const auto& [name, bytes] : files) {
    const zip_int64_t index = zip_file_add(archive, name.c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0), 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  if (zip_close(archive) != 0) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace fodp::testing
