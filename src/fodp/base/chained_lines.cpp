#include "fodp/base/chained_lines.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"

namespace fodp {
namespace {

constexpr std::size_t kDigits = 16;

std::string checksum(std::string_view digits_before, std::string_view text) {
  return Sha256().add(digits_before).add(text).text().substr(0, kDigits);
}

// Whether a whole line stands at the beginning of the bytes with more behind it, though its line end is lost.
bool holds_more_than_a_line(std::string_view digits_before, std::string_view bytes) {
  for (std::size_t space = bytes.find(' '); space != std::string_view::npos; space = bytes.find(' ', space + 1))
    if (bytes.size() > space + 1 + kDigits && checksum(digits_before, bytes.substr(0, space)) == bytes.substr(space + 1, kDigits))
      return true;
  return false;
}

struct Parsed {
  ChainedText text;
  std::string digits;
  std::uint64_t length = 0;  // of all whole lines
};

Parsed parse(std::string_view bytes, const std::filesystem::path& file) {
  Parsed parsed;
  while (parsed.length < bytes.size()) {
    const std::string_view rest = bytes.substr(parsed.length);
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const bool has_sum = line.size() > kDigits && line[line.size() - kDigits - 1] == ' ';
    const std::string_view text = line.substr(0, has_sum ? line.size() - kDigits - 1 : 0);
    const bool whole = end != std::string_view::npos && has_sum && checksum(parsed.digits, text) == line.substr(line.size() - kDigits);
    if (!whole) {
      const bool is_last = end == std::string_view::npos || end + 1 == rest.size();
      check_privacy(is_last && !holds_more_than_a_line(parsed.digits, line),
                    "{}: line {} does not fit its checksum: the file was damaged or changed, so what it says cannot be relied on",
                    file.string(), parsed.text.lines.size() + 1);
      parsed.text.torn = true;
      break;
    }
    parsed.text.lines.emplace_back(text);
    parsed.digits = line.substr(line.size() - kDigits);
    parsed.length += end + 1;
  }
  return parsed;
}

std::string content_of(const std::filesystem::path& file) {
  std::error_code ignored;
  std::ifstream stream(file, std::ios::binary);
  check_input(std::filesystem::is_regular_file(file, ignored) && stream.good(), "{}: not a file that can be read", file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

ChainedText read_chained_lines(const std::filesystem::path& file) { return parse(content_of(file), file).text; }

ChainedLines::ChainedLines(std::filesystem::path file, int descriptor) : file_(std::move(file)), descriptor_(descriptor) {}

ChainedLines::ChainedLines(ChainedLines&& other) noexcept
    : file_(std::move(other.file_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      digits_(std::move(other.digits_)),
      length_(other.length_) {}

ChainedLines::~ChainedLines() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

ChainedLines ChainedLines::create(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  check_input(descriptor >= 0, "{}: cannot be made: {}", file.string(), std::strerror(errno));
  ChainedLines lines(file, descriptor);
  lines.lock();
  return lines;
}

ChainedLines ChainedLines::open(const std::filesystem::path& file, ChainedText& text) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  check_input(descriptor >= 0, "{}: cannot be opened for writing: {}", file.string(), std::strerror(errno));
  ChainedLines lines(file, descriptor);
  lines.lock();
  Parsed parsed = parse(content_of(file), file);
  text = std::move(parsed.text);
  lines.digits_ = std::move(parsed.digits);
  lines.length_ = parsed.length;
  return lines;
}

void ChainedLines::lock() const {
  check_input(::flock(descriptor_, LOCK_EX | LOCK_NB) == 0, "{}: another process is using it: a run is continued by one process at a time",
              file_.string());
}

void ChainedLines::append(std::string_view text) {
  const std::string digits = checksum(digits_, text);
  const std::string line = std::string(text) + " " + digits + "\n";
  const auto offset = static_cast<off_t>(length_);
  const auto written_whole = [&] {
    if (::ftruncate(descriptor_, offset) != 0) return false;  // whatever an append that failed, or a crash, has left there
    for (std::size_t done = 0; done < line.size();) {
      const auto count = ::pwrite(descriptor_, line.data() + done, line.size() - done, offset + static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return ::fdatasync(descriptor_) == 0;
  };
  if (!written_whole()) {
    const int error = errno;
    [[maybe_unused]] const int result = ::ftruncate(descriptor_, offset);
    throw FaultError(fmt::format("{}: writing failed: {}", file_.string(), std::strerror(error)));
  }
  digits_ = digits;
  length_ += line.size();
}

}  // namespace fodp
