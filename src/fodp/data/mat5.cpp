#include "fodp/data/mat5.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "fodp/base/check.h"
#include "fodp/data/file_bytes.h"
#include "fodp/data/inflater.h"

namespace fodp {
namespace {

constexpr std::uint32_t matrix_type = 14, compressed_type = 15;
constexpr int first_numeric_class = 6, last_numeric_class = 15;  // double to uint64
constexpr std::uint64_t most_unpacked = 1032;                    // bytes out of one byte of a deflate stream

// How much of a variable is read: no more than its start, or all of it.
enum class Depth { headers, everything };

struct Tag {
  std::uint32_t type, bytes;
};

std::uint32_t word(const std::uint8_t* bytes) {
  return bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24;
}

void check_header(FileBytes& file) {
  std::array<std::uint8_t, 128> header;
  std::size_t got = file.read(header);
  check_input(got == header.size(), "{}: ends after {} bytes, inside the 128-byte header of a MATLAB file", file.name(), got);
  int version = header[124] | header[125] << 8;
  check_input(version != 0x200, "{}: is MATLAB v7.3: expected v5 (in MATLAB: save -v7)", file.name());
  check_input(version == 0x100 && header[126] == 'I' && header[127] == 'M',
              "{}: is not a little-endian MATLAB v5 file: bytes 124 to 127 are {:02x} {:02x} {:02x} {:02x}: expected 00 01 49 4d",
              file.name(), header[124], header[125], header[126], header[127]);
}

// The first bytes of a variable, up to its array flags, and how many there are in all.
struct Start {
  std::array<std::uint8_t, 24> bytes{};
  std::uint64_t total = 0;

  void append(std::span<const std::uint8_t> piece) {
    if (total < bytes.size())
      std::copy_n(piece.begin(), std::min(piece.size(), bytes.size() - total), bytes.begin() + static_cast<std::ptrdiff_t>(total));
    total += piece.size();
  }
  bool complete() const { return total >= bytes.size(); }
};

void check_matrix(const FileBytes& file, std::uint64_t at, const Start& start) {
  Tag tag{word(&start.bytes[0]), word(&start.bytes[4])}, flags{word(&start.bytes[8]), word(&start.bytes[12])};
  check_input(start.complete() && tag.type == matrix_type && flags.type == 6 && flags.bytes == 8,
              "{}: the variable at byte {} is not a MATLAB array", file.name(), at);
  check_input(start.total >= std::uint64_t{tag.bytes} + 8, "{}: the variable at byte {} has {} bytes: it says {}", file.name(), at,
              start.total, std::uint64_t{tag.bytes} + 8);
  int kind = start.bytes[16];
  check_input(kind >= first_numeric_class && kind <= last_numeric_class,
              "{}: the variable at byte {} is of MATLAB class {}: expected a numeric array, {} to {}", file.name(), at, kind,
              first_numeric_class, last_numeric_class);
}

Start read_plain(FileBytes& file, const std::array<std::uint8_t, 8>& tag, std::uint64_t bytes, Depth depth) {
  Start start;
  start.append(tag);
  std::vector<std::uint8_t> buffer(1 << 16);
  while (bytes > 0) {
    std::size_t got = file.read(std::span(buffer).first(std::min<std::uint64_t>(bytes, buffer.size())));
    check_input(got > 0, "{}: ends at byte {}, inside a variable", file.name(), file.offset());
    start.append(std::span(buffer).first(got));
    bytes -= got;
    if (depth == Depth::headers && start.complete()) return start;
  }
  return start;
}

Start read_compressed(FileBytes& file, std::uint64_t bytes, Depth depth) {
  Start start;
  Inflater inflater(Inflater::Wrapper::zlib);
  std::vector<std::uint8_t> buffer(1 << 16), unpacked(depth == Depth::headers ? start.bytes.size() : 1 << 18);
  bool ended = false;
  while (bytes > 0) {
    std::uint64_t at = file.offset();
    std::size_t got = file.read(std::span(buffer).first(std::min<std::uint64_t>(bytes, buffer.size())));
    check_input(got > 0, "{}: ends at byte {}, inside a variable", file.name(), file.offset());
    bytes -= got;
    std::span<const std::uint8_t> in = std::span(buffer).first(got);
    while (!in.empty() && !ended) {
      auto progress = inflater.step(in, unpacked);
      in = in.subspan(progress.consumed);
      at += progress.consumed;
      check_input(!progress.problem, "{}: corrupt compressed data at byte {}: {}", file.name(), at,
                  progress.problem ? progress.problem : "");
      start.append(std::span(unpacked).first(progress.produced));
      ended = progress.ended;
      if (depth == Depth::headers && start.complete()) return start;
    }
    check_input(in.empty(), "{}: {} bytes after the end of the compressed data at byte {}", file.name(), in.size() + bytes, at);
  }
  check_input(ended, "{}: compressed data ends early, at byte {}", file.name(), file.offset());
  return start;
}

std::uint64_t check_variables(FileBytes& file, Depth depth) {
  check_header(file);
  std::uint64_t total = 0;
  while (!file.at_end()) {
    std::uint64_t at = file.offset();
    std::array<std::uint8_t, 8> bytes;
    std::size_t got = file.read(bytes);
    check_input(got == bytes.size(), "{}: ends after {} bytes, inside the tag of the variable at byte {}", file.name(), at + got, at);
    Tag tag{word(&bytes[0]), word(&bytes[4])};
    check_input(tag.type == matrix_type || tag.type == compressed_type, "{}: type {} at byte {}: expected {}, an array, or {}, compressed",
                file.name(), tag.type, at, matrix_type, compressed_type);
    check_input(tag.bytes <= file.file_size() - file.offset(), "{}: the variable at byte {} has {} bytes: the file ends {} after its tag",
                file.name(), at, tag.bytes, file.file_size() - file.offset());
    const std::uint64_t after = file.offset() + tag.bytes;
    Start start = tag.type == matrix_type ? read_plain(file, bytes, tag.bytes, depth) : read_compressed(file, tag.bytes, depth);
    if (depth == Depth::headers && start.complete()) {
      file.skip(after - file.offset());
      start.total = tag.type == matrix_type ? bytes.size() + tag.bytes : tag.bytes * most_unpacked;
    }
    check_matrix(file, at, start);
    total += start.total;
  }
  return total;
}

}  // namespace

std::uint64_t check_mat5(const std::filesystem::path& path, Sha256* contents) {
  FileBytes file(path, contents);
  return check_variables(file, Depth::everything);
}

std::uint64_t check_mat5_headers(const std::filesystem::path& path) {
  FileBytes file(path);
  return check_variables(file, Depth::headers);
}

}  // namespace fodp
