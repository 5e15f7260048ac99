#include "fodp/data/inflater.h"

#include <algorithm>
#include <limits>
#include <new>

namespace fodp {
namespace {

uInt clamp_size(std::size_t size) { return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max())); }

}  // namespace

Inflater::Inflater(Wrapper wrapper) {
  if (inflateInit2(&stream_, wrapper == Wrapper::gzip ? MAX_WBITS + 16 : MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

Inflater::Progress Inflater::step(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) {
  stream_.next_in = const_cast<Bytef*>(in.data());  // zlib only reads it
  stream_.avail_in = clamp_size(in.size());
  stream_.next_out = out.data();
  stream_.avail_out = clamp_size(out.size());
  int status = inflate(&stream_, Z_NO_FLUSH);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  Progress progress{.consumed = static_cast<std::size_t>(stream_.next_in - in.data()),
                    .produced = static_cast<std::size_t>(stream_.next_out - out.data()),
                    .ended = status == Z_STREAM_END,
                    .problem = nullptr};
  // Z_BUF_ERROR only says that there was nothing to do.
  if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) progress.problem = stream_.msg ? stream_.msg : "invalid stream";
  return progress;
}

}  // namespace fodp
