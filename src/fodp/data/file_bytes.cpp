#include "fodp/data/file_bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::size_t chunk = 1 << 18;

}  // namespace

FileBytes::FileBytes(const std::filesystem::path& path, Sha256* digest) : name_(path.string()), digest_(digest) {
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  check_input(std::filesystem::exists(status), "{}: cannot be opened: {}", name_, error ? error.message() : "no such file");
  check_input(!std::filesystem::is_directory(status), "{}: is a folder: expected a file", name_);
  check_input(std::filesystem::is_regular_file(status), "{}: is not a regular file", name_);
  file_.reset(std::fopen(name_.c_str(), "rb"));
  check_input(file_ != nullptr, "{}: cannot be opened: {}", name_, std::strerror(errno));
  file_size_ = std::filesystem::file_size(path, error);
  check_input(!error, "{}: its size cannot be read: {}", name_, error.message());
  check_input(file_size_ > 0, "{}: is empty (0 bytes)", name_);
  if (path.extension() == ".gz") {
    inflater_.emplace(Inflater::Wrapper::gzip);
    packed_.resize(chunk);
  }
}

std::size_t FileBytes::read(std::span<std::uint8_t> out) {
  if (out.empty()) return 0;
  std::size_t done = 0;
  if (peeked_) {
    out[done++] = *peeked_;
    peeked_.reset();
  }
  done += inflater_ ? read_unpacked(out.subspan(done)) : read_stored(out.subspan(done));
  offset_ += done;
  if (digest_) digest_->add(out.first(done));
  return done;
}

void FileBytes::skip(std::uint64_t count) {
  if (count == 0) return;
  const auto further = static_cast<off_t>(count - (peeked_ ? 1 : 0));
  check_input(!packed() && fseeko(file_.get(), further, SEEK_CUR) == 0, "{}: cannot be read from byte {} on", name_, offset_ + count);
  peeked_.reset();
  offset_ += count;
}

std::vector<std::uint8_t> FileBytes::read_up_to(std::uint64_t count) {
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) {
    std::size_t had = bytes.size();
    std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(count, std::max(chunk, 2 * had)));
    bytes.reserve(want);  // exactly: resize alone could round up
    bytes.resize(want);
    std::size_t got = read(std::span(bytes).subspan(had));
    bytes.resize(had + got);
    if (had + got < want) break;
  }
  return bytes;
}

bool FileBytes::at_end() {
  std::uint8_t byte;
  if (!peeked_) {
    if ((inflater_ ? read_unpacked({&byte, 1}) : read_stored({&byte, 1})) == 0) return true;
    peeked_ = byte;
  }
  return false;
}

std::size_t FileBytes::read_stored(std::span<std::uint8_t> out) {
  std::size_t got = std::fread(out.data(), 1, out.size(), file_.get());
  check_input(!std::ferror(file_.get()), "{}: cannot be read: {}", name_, std::strerror(errno));
  return got;
}

bool FileBytes::refill() {
  if (!waiting_.empty()) return true;
  waiting_ = std::span(packed_).first(read_stored(packed_));
  return !waiting_.empty();
}

std::size_t FileBytes::read_unpacked(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size() && !unpacked_all_) {
    check_input(refill(), "{}: the gzip stream ends early, at byte {} of the file: is the download complete?", name_, packed_offset_);
    auto progress = inflater_->step(waiting_, out.subspan(done));
    waiting_ = waiting_.subspan(progress.consumed);
    packed_offset_ += progress.consumed;
    done += progress.produced;
    check_input(!progress.problem, "{}: corrupt gzip data at byte {} of the file: {}", name_, packed_offset_,
                progress.problem ? progress.problem : "");
    if (progress.ended) start_next_stream();
  }
  return done;
}

// A gzip file may be several streams one after the other (RFC 1952, 2.2); anything else after a stream is not gzip.
void FileBytes::start_next_stream() {
  if (!refill()) {
    unpacked_all_ = true;
    return;
  }
  check_input(waiting_[0] == 0x1f, "{}: {} bytes after the end of the gzip stream at byte {}", name_, file_size_ - packed_offset_,
              packed_offset_);
  inflater_->restart();
}

}  // namespace fodp
