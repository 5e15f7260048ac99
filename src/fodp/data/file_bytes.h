// The bytes of one file from its start, unpacked on the way where its name ends in .gz. Everything that can be wrong with the file itself
// is an InputError that names it: missing, a folder, unreadable, empty, and for gzip a bad checksum, a stream that ends early, bytes after
// its end. The bytes that are read can be added to a digest on the way.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fodp/base/sha256.h"
#include "fodp/data/inflater.h"

namespace fodp {

class FileBytes {
 public:
  // The digest, if there is one, gets every byte that read() gives, and must outlive this.
  explicit FileBytes(const std::filesystem::path& path, Sha256* digest = nullptr);

  const std::string& name() const { return name_; }
  std::uint64_t file_size() const { return file_size_; }  // as stored, before unpacking
  bool packed() const { return inflater_.has_value(); }
  std::uint64_t offset() const { return offset_; }  // of the next byte, after unpacking

  // Fills `out` and returns how many bytes there were: fewer than asked for only at the end.
  std::size_t read(std::span<std::uint8_t> out);

  // The next `count` bytes, or what is left. Memory grows with what the file really holds, never with `count`.
  std::vector<std::uint8_t> read_up_to(std::uint64_t count);

  // Passes over the next `count` bytes without reading them, of a file that is not packed. They may reach past its end.
  void skip(std::uint64_t count);

  // True when no byte is left; for gzip this has verified the checksum.
  bool at_end();

 private:
  std::size_t read_stored(std::span<std::uint8_t> out);
  std::size_t read_unpacked(std::span<std::uint8_t> out);
  bool refill();  // false at the end of the file
  void start_next_stream();

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string name_;
  Sha256* digest_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t file_size_ = 0, offset_ = 0;
  std::optional<std::uint8_t> peeked_;

  std::optional<Inflater> inflater_;  // for .gz only
  std::vector<std::uint8_t> packed_;
  std::span<const std::uint8_t> waiting_;  // packed bytes not yet consumed
  std::uint64_t packed_offset_ = 0;        // of the first of them
  bool unpacked_all_ = false;
};

}  // namespace fodp
