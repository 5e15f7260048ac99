#include "fodp/base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// A new file beside the target, which is deleted unless it took the target's place. Its name does not contain the target's, because that
// may be as long as names can be.
class TemporaryFile {
 public:
  TemporaryFile(const std::filesystem::path& target, std::string_view what) : target_(target), what_(what) {
    static std::atomic<unsigned> counter{0};
    do {
      name_ = folder() / fmt::format(".fodp-{}-{}.tmp", ::getpid(), counter++);
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    check_input(descriptor_ >= 0, "{} {}: cannot be written in directory {}: {}", what_, target_.string(), folder().string(),
                std::strerror(errno));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      check_disk(count > 0);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    check_disk(::fsync(descriptor_) == 0);
    check_disk(::close(std::exchange(descriptor_, -1)) == 0);
  }

  void take_place_of_target() {
    const bool renamed = ::rename(name_.c_str(), target_.c_str()) == 0;
    check_input(renamed, "{} {}: cannot be written: {}", what_, target_.string(), std::strerror(errno));
    name_.clear();
    // The file is already whole under its name. This makes the name outlive a power cut, where the file system can.
    const int directory = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return;
    ::fsync(directory);
    ::close(directory);
  }

 private:
  std::filesystem::path folder() const { return target_.has_parent_path() ? target_.parent_path() : "."; }
  void check_disk(bool holds) const { check_fault(holds, "{} {}: writing failed: {}", what_, target_.string(), std::strerror(errno)); }

  std::filesystem::path target_, name_;
  std::string what_;
  int descriptor_ = -1;
};

}  // namespace

void write_file_atomically(const std::filesystem::path& target, std::string_view bytes, std::string_view what) {
  TemporaryFile file(target, what);
  file.write(bytes);
  file.take_place_of_target();
}

}  // namespace fodp
