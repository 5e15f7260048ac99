#include "fodp/features/feature_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "fodp/base/check.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".features", kPartial = ".features.partial";

fs::path lock_of(const fs::path& file) { return file.string() + ".lock"; }

fs::path usual_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return fs::path(cache) / "fodp" / "features";
  const char* home = std::getenv("HOME");
  check_input(home && *home, "features: neither HOME nor XDG_CACHE_HOME is set: give `feature-cache`");
  return fs::path(home) / ".cache" / "fodp" / "features";
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
  const bool made = ::mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST;
  check_input(made && fs::is_directory(folder, error), "`feature-cache` {}: cannot be made: {}", folder.string(), std::strerror(errno));
}

// Held by the one process that makes a file, for as long as this lives. The system lets go of it when a process ends, however it ends.
class Lock {
 public:
  Lock(const fs::path& file, const std::function<void()>& wait)
      : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    check_input(descriptor_ >= 0, "{}: cannot be written: {}", file.string(), std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    if (wait) wait();
    while (::flock(descriptor_, LOCK_EX) != 0) check_fault(errno == EINTR, "{}: cannot be locked: {}", file.string(), std::strerror(errno));
  }
  ~Lock() { ::close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  static bool is_held(const fs::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return false;
    const bool held = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0;
    ::close(descriptor);
    return held;
  }

 private:
  int descriptor_;
};

}  // namespace

FeatureCache::FeatureCache(const std::optional<std::string>& folder) : folder_(folder ? fs::path(*folder) : usual_folder()) {
  check_input(!folder_.empty(), "`feature-cache` is empty: must name a folder");
}

void FeatureCache::make() const { make_folder(folder_); }

FeatureCache::Made FeatureCache::find_or_make(const FeatureFacts& facts, const ParallelFor& parallel,
                                              const std::function<void(FeatureWriter&)>& make, const std::function<void()>& wait) const {
  const fs::path file = folder_ / facts.file_name();
  if (auto found = FeatureFile::open(file, parallel)) return {std::move(found), true};
  make_folder(folder_);
  const Lock lock(lock_of(file), wait);
  if (auto found = FeatureFile::open(file, parallel)) return {std::move(found), true};  // made while this one waited
  {
    FeatureWriter writer(file, facts);
    make(writer);
    writer.finish(parallel);
  }
  auto made = FeatureFile::open(file, parallel);
  check_fault(made != nullptr, "features: {} does not hold what was written to it", file.string());
  return {std::move(made), false};
}

std::vector<FeatureCache::Entry> FeatureCache::list() const {
  std::vector<Entry> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kEnding)) continue;
    if (std::optional<FeatureFacts> facts = FeatureFile::facts_in(entry.path())) entries.push_back({name, std::move(*facts)});
  }
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

// What a killed process left unfinished goes with "all"; what somebody is making now stays.
std::int64_t FeatureCache::remove(const std::string& name) const {
  std::int64_t bytes = 0;
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string own = entry.path().filename().string();
    const bool whole = own.ends_with(kEnding) && (own == name || name == "all");
    const bool left = name == "all" && own.ends_with(kPartial) && !Lock::is_held(lock_of(fs::path(entry.path()).replace_extension()));
    if (whole || left) files.push_back(entry.path());
  }
  check_input(!files.empty() || name == "all", "features: {} has no file {}: fodp features `list` names those that are there",
              folder_.string(), name);
  for (const fs::path& file : files) {
    bytes += static_cast<std::int64_t>(fs::file_size(file, error));
    check_input(fs::remove(file, error), "{}: cannot be deleted: {}", file.string(), error.message());
  }
  return bytes;
}

}  // namespace fodp
