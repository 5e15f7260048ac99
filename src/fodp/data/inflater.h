// One compressed stream (RFC 1950 or 1952), unpacked piece by piece. Its checksum is verified by the step that reports the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <zlib.h>

namespace fodp {

class Inflater {
 public:
  enum class Wrapper { zlib, gzip };
  struct Progress {
    std::size_t consumed, produced;
    bool ended;           // the stream is complete and its checksum right
    const char* problem;  // what is wrong with the bytes, or null
  };

  // No stream gives more bytes than this for one of its own.
  static constexpr std::uint64_t most_for_one_byte = 1032;

  explicit Inflater(Wrapper wrapper);
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Progress step(std::span<const std::uint8_t> in, std::span<std::uint8_t> out);
  void restart() { inflateReset(&stream_); }  // for the next stream

 private:
  z_stream stream_{};
};

}  // namespace fodp
