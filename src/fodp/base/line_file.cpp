#include "fodp/base/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"

namespace fodp {

LineFile::LineFile(const std::filesystem::path& file, std::string_view what) : name_(fmt::format("{} {}", what, file.string())) {
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  check_input(descriptor_ >= 0, "{}: cannot be made: {}", name_, std::strerror(errno));
}

LineFile::LineFile(const std::filesystem::path& file, std::string_view what, std::string_view lines)
    : name_(fmt::format("{} {}", what, file.string())), size_(static_cast<std::int64_t>(lines.size())) {
  write_file_atomically(file, lines, what);
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  check_input(descriptor_ >= 0, "{}: cannot be opened: {}", name_, std::strerror(errno));
}

LineFile::~LineFile() { ::close(descriptor_); }

void LineFile::add(std::string_view text) {
  const std::string line = std::string(text) + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const auto count = ::write(descriptor_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int problem = errno;
      const bool cut = ::ftruncate(descriptor_, size_) == 0 && ::lseek(descriptor_, size_, SEEK_SET) == size_;
      throw FaultError(fmt::format("{}: writing failed: {}{}", name_, std::strerror(problem), cut ? "" : "; its last line is not whole"));
    }
    done += static_cast<std::size_t>(count);
  }
  size_ += static_cast<std::int64_t>(line.size());
}

}  // namespace fodp
